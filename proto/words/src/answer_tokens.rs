//! Tokens of answers.

/// What LoadGen is told of the tokens of answers, which are int32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerTokens {
    /// Nothing.
    #[default]
    Uncounted,
    /// How many they are.
    Counted,
    /// Besides, the first of them, as soon as it is there.
    First,
}
