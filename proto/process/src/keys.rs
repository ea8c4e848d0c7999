//! The keys of a command, which it shares with the other commands of its program.

use serde::{Serialize, de::DeserializeOwned};

/// A function that replaces the paths in a value that holds more than a path. What a path becomes, or why it cannot be used, is
/// said by the function that it gets.
pub type Replace =
    fn(&str, &mut dyn FnMut(&str) -> Result<String, String>) -> Result<String, String>;

/// Keys of a command that takes a settings file.
pub trait Keys: clap::Args + Serialize + DeserializeOwned {
    /// Keys of all commands of the program that take one. They share a file: a key of another command has no effect.
    type All: Keys;
    /// Keys whose values hold more than a path, such as a word or a file. Those whose values are a path are known by their type.
    const MIXED: &'static [(&'static str, Replace)] = <Self::All as Keys>::MIXED;
}
