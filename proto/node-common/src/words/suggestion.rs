//! Suggestions ("did you mean") of the known values closest to an unknown one.

/// Minimum similarity of a suggestion, from 0 to 1, equal to clap's for options.
const ALIKE: f64 = 0.7;

/// Maximum difference between the similarity of a suggestion and that of the best one.
const NEAR_THE_BEST: f64 = 0.05;

/// Similarity of words that differ by one edit, if it is higher than that of their letters. In short
/// words, such as `rn` for `run`, one edit leaves little in common.
const ONE_EDIT: f64 = 0.85;

/// Returns the known values that are most similar to a word; empty if none is similar.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let likeness = |known: &str| {
        let known = known.to_lowercase();
        let is_one_edit = word.len() > 1 && strsim::osa_distance(&word, &known) == 1;
        strsim::jaro(&word, &known).max(if is_one_edit { ONE_EDIT } else { 0.0 })
    };
    let alike = known.into_iter().map(|known| (likeness(known), known));
    let mut alike: Vec<_> = alike.filter(|(likeness, _)| *likeness > ALIKE).collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let best = alike.first().map_or(0.0, |(best, _)| *best);
    let nearest = alike.into_iter().filter(|(likeness, _)| best - likeness < NEAR_THE_BEST);
    nearest.map(|(_, known)| known).collect()
}

/// Returns ` (did you mean a or b?)`, for the end of a message, or an empty text if no known value
/// is similar.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(word, known).join(" or ") {
        none if none.is_empty() => none,
        nearest => format!(" (did you mean {nearest}?)"),
    }
}

/// Adds a suggestion to a message of serde such as "unknown variant `x`, expected one of `a`, `b`".
/// Returns any other message unchanged.
pub fn with_suggestion(message: &str) -> String {
    let message = message.trim_end();
    let about = message.rsplit_once("unknown ").map_or("", |(_, about)| about);
    let mut words = about.split('`').skip(1).step_by(2);
    let word = words.next().unwrap_or_default();
    format!("{message}{}", did_you_mean(word, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_words_are_suggested() {
        let known = [
            "llama2-70b-99",
            "llama2-70b-interactive-99",
            "llama2-70b-99.9",
            "resnet50",
            "none",
            "run",
        ];
        for (word, want) in [
            ("llama2-70b", " (did you mean llama2-70b-99 or llama2-70b-99.9?)"),
            ("resnt50", " (did you mean resnet50?)"),
            ("ResNet", " (did you mean resnet50?)"),
            ("rn", " (did you mean run?)"),
            ("zip", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(word, known), want, "{word}");
        }
    }

    #[test]
    fn messages_of_serde_get_a_suggestion() {
        let toml = "TOML parse error at line 1, column 1\n  |\n1 | sead = 1\n  | ^^^^\n";
        let unknown = format!("{toml}unknown field `sead`, expected `seed` or `rate`\n");
        assert!(with_suggestion(&unknown).ends_with("`seed` or `rate` (did you mean seed?)"));
        for message in ["invalid type: integer `5`", "unknown variant `x`, there are no variants"] {
            assert_eq!(with_suggestion(message), message);
        }
    }
}
