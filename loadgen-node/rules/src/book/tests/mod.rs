//! Compares the table with the rules and the official scripts, and the documentation with the
//! table.

mod against_later_rules_text;
mod against_rules_text;
mod against_scripts;
mod documented;
