//! The table is what the rules say.

mod against_rules_text;
