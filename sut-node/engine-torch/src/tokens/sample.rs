//! A sample in flight, and the work of its rows of the cache in a step.

use super::beams::Beams;

pub(super) struct Sample {
    pub(super) number: u64,
    pub(super) prompt: Vec<i32>,
    pub(super) least: usize,
    pub(super) most: usize,
    /// Number of output tokens so far.
    pub(super) given: usize,
    pub(super) search: Search,
}

pub(super) enum Search {
    /// Greedy search, with the last token.
    Greedy(i32),
    Beams(Beams),
}

impl Search {
    pub(super) fn new(beams: usize) -> Self {
        if beams > 1 { Self::Beams(Beams::new(beams)) } else { Self::Greedy(0) }
    }
}

impl Sample {
    /// Returns true if the next token must not end the output.
    pub(super) fn is_early(&self) -> bool {
        self.given + 1 < self.least
    }
}

/// Work of a row of the cache in a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CacheRow {
    /// Token that the row computes.
    pub(super) id: i32,
    pub(super) position: usize,
    pub(super) score: f32,
    /// Index of the row whose keys and values this row continues.
    pub(super) source: usize,
    /// Position at which the output begins.
    output: usize,
}

/// Returns the work of a slot's rows. Without a sample, the rows compute a token that is discarded.
pub(super) fn rows(
    sample: Option<&Sample>,
    slot: usize,
    position: usize,
    beams: usize,
) -> Vec<CacheRow> {
    let row = |beam| slot * beams + beam;
    let still =
        |beam| CacheRow { id: 0, position, score: 0.0, source: row(beam), output: position };
    match sample.map(|it| (&it.search, it.prompt.len())) {
        None => (0..beams).map(still).collect(),
        Some((Search::Greedy(id), _)) => vec![CacheRow { id: *id, ..still(0) }],
        Some((Search::Beams(search), output)) => search
            .rows()
            .map(|(id, score, from)| CacheRow { id, position, score, source: row(from), output })
            .collect(),
    }
}

/// Returns the range of positions that have to be copied, because rows continue other rows than
/// themselves; `None` if every row continues itself.
pub(super) fn moved(rows: &[CacheRow]) -> Option<(usize, usize)> {
    let moved =
        || rows.iter().enumerate().filter(|(at, row)| row.source != *at).map(|(_, row)| row);
    let start = moved().map(|row| row.output).min()?;
    let end = moved().map(|row| row.position).max()?;
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::beams::Candidate;

    /// Returns a sample of two beams with a prompt of three tokens, whose beams continue `sources`.
    fn beams(sources: [usize; 2]) -> Sample {
        let mut search = Beams::new(2);
        for sources in [[0, 0], sources] {
            let candidates = [0, 1, 0, 1].map(|rank: usize| Candidate {
                score: -1.0,
                beam: sources[rank],
                id: 7 + rank as i32,
            });
            assert_eq!(search.take(&candidates, &[], 9), None);
        }
        let search = Search::Beams(search);
        Sample { number: 1, prompt: vec![1; 3], least: 1, most: 9, given: 2, search }
    }

    #[test]
    fn rows_go_on_from_those_of_their_own_slot() {
        let swapped = rows(Some(&beams([1, 0])), 2, 4, 2);
        assert_eq!(swapped.iter().map(|row| row.source).collect::<Vec<_>>(), [5, 4]);
        assert_eq!(swapped.iter().map(|row| row.id).collect::<Vec<_>>(), [7, 8]);
        let none = rows(None, 1, 6, 2);
        assert_eq!(
            none.iter().map(|row| (row.source, row.position)).collect::<Vec<_>>(),
            [(2, 6), (3, 6)]
        );
    }

    #[test]
    fn only_what_differs_is_moved() {
        let all = |sources| [rows(None, 0, 9, 2), rows(Some(&beams(sources)), 1, 4, 2)].concat();
        assert_eq!(moved(&all([0, 1])), None);
        assert_eq!(moved(&all([1, 0])), Some((3, 4)), "from the output's begin to what is written");
    }
}
