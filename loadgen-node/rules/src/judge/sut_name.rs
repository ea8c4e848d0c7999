//! N13: the SUT's name says that it is one over a network (rules, section 6.2.1).

/// What is wrong with a name.
pub(crate) fn wrong(name: &str) -> Option<String> {
    (!name.contains("Network SUT")).then(|| format!("`{name}` does not contain `Network SUT`"))
}
