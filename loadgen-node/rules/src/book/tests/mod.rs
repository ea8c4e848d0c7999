//! The table is what the rules say, and the documentation what the table says.

mod against_later_rules_text;
mod against_rules_text;
mod against_scripts;
mod documented;
