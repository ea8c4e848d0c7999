//! Tokens of an answer that nobody waits for but a test or a fuzz target.

use super::taker::Taker;

/// Keeps the tokens, and waits for ever.
#[derive(Default)]
pub(crate) struct Taken(pub(crate) Vec<i32>);

impl Taker for Taken {
    fn tokens(&mut self, ids: &[i32]) {
        self.0.extend(ids);
    }

    fn has_gone(&self) -> bool {
        false
    }
}
