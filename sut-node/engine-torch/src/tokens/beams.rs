//! Beam search for one sample, with the rules of `generate(num_beams=…, early_stopping=True)` in
//! the Python library transformers: once there are as many ended outputs as beams, the best of them
//! is the result. The best one has the maximum mean of log-probabilities.

/// Possible continuation of a beam by one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// Sum of the log-probabilities of the beam's tokens and of the new one.
    pub(super) score: f32,
    pub(super) beam: usize,
    pub(super) id: i32,
}

#[derive(Debug, Clone)]
struct Output {
    ids: Vec<i32>,
    score: f32,
}

#[derive(Debug)]
pub(super) struct Beams {
    width: usize,
    /// Running beams: one before the first token, then `width`.
    running: Vec<Output>,
    ended: Vec<Output>,
    /// For each running beam, the index of the beam of the previous step that it continues.
    source: Vec<usize>,
}

impl Beams {
    pub(super) fn new(width: usize) -> Self {
        let start = Output { ids: Vec::new(), score: 0.0 };
        Self { width, running: vec![start], ended: Vec::new(), source: vec![0] }
    }

    /// Returns the number of candidates that a step needs, so that at least `width` of them do not
    /// end the output. `ends` is the number of ids that end an output.
    pub(super) fn candidates(width: usize, ends: usize) -> usize {
        width * (1 + ends).max(2)
    }

    /// Returns the number of tokens of each running beam.
    pub(super) fn len(&self) -> usize {
        self.running[0].ids.len()
    }

    /// Returns the last token, score and source of each running beam.
    pub(super) fn rows(&self) -> impl Iterator<Item = (i32, f32, usize)> {
        let last = |beam: &Output| beam.ids.last().copied().unwrap_or_default();
        self.running
            .iter()
            .zip(&self.source)
            .map(move |(beam, &from)| (last(beam), beam.score, from))
    }

    /// Continues the beams by one token. `candidates` are sorted, best first. Returns the best
    /// output once the search has ended; it has at most `most` tokens.
    pub(super) fn take(
        &mut self,
        candidates: &[Candidate],
        ends: &[i32],
        most: usize,
    ) -> Option<Vec<i32>> {
        let length = self.len() + 1;
        let is_full = length >= most;
        let mut running = Vec::with_capacity(self.width);
        self.source.clear();
        for (rank, candidate) in candidates.iter().enumerate() {
            let has_ended = is_full || ends.contains(&candidate.id);
            if has_ended && rank < self.width {
                let score = candidate.score / length as f32;
                self.ended.push(Output { ids: self.continued(candidate), score });
            } else if !has_ended && running.len() < self.width {
                running.push(Output { ids: self.continued(candidate), score: candidate.score });
                self.source.push(candidate.beam);
            }
        }
        self.ended.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.ended.truncate(self.width);
        if is_full || self.ended.len() == self.width {
            return self.ended.first_mut().map(|best| std::mem::take(&mut best.ids));
        }
        self.running = running;
        None
    }

    fn continued(&self, candidate: &Candidate) -> Vec<i32> {
        let before = &self.running[candidate.beam].ids;
        before.iter().copied().chain([candidate.id]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(given: &[(f32, usize, i32)]) -> Vec<Candidate> {
        given.iter().map(|&(score, beam, id)| Candidate { score, beam, id }).collect()
    }

    #[test]
    fn the_best_beams_go_on_from_where_they_come() {
        let mut beams = Beams::new(2);
        assert_eq!(Beams::candidates(2, 1), 4);
        let first = candidates(&[(-1.0, 0, 5), (-2.0, 0, 6), (-3.0, 0, 7), (-4.0, 0, 8)]);
        assert_eq!(beams.take(&first, &[9], 10), None);
        let second = candidates(&[(-2.5, 1, 7), (-2.6, 1, 9), (-2.7, 0, 5), (-2.8, 0, 6)]);
        assert_eq!(beams.take(&second, &[9], 10), None);
        // The ended beam is kept as an output. The next best candidate replaces it.
        assert_eq!(beams.rows().collect::<Vec<_>>(), [(7, -2.5, 1), (5, -2.7, 0)]);
        assert_eq!((beams.len(), beams.ended[0].ids.as_slice()), (2, &[6, 9][..]));
    }

    #[test]
    fn the_output_with_the_best_mean_is_the_answer() {
        let mut beams = Beams::new(2);
        let first = candidates(&[(-1.0, 0, 9), (-1.1, 0, 6), (-3.0, 0, 7), (-4.0, 0, 8)]);
        assert_eq!(beams.take(&first, &[9], 10), None);
        let second = candidates(&[(-1.5, 0, 9), (-3.5, 1, 7), (-3.6, 1, 8), (-3.7, 0, 8)]);
        assert_eq!(
            beams.take(&second, &[9], 10),
            Some(vec![6, 9]),
            "-1.5 / 2 is better than -1.0 / 1"
        );
    }

    #[test]
    fn an_end_below_the_best_is_none() {
        let mut beams = Beams::new(2);
        let first = candidates(&[(-1.0, 0, 5), (-1.1, 0, 6), (-3.0, 0, 9), (-4.0, 0, 8)]);
        assert_eq!(beams.take(&first, &[9], 10), None);
        assert!(beams.ended.is_empty());
    }

    #[test]
    fn the_limit_ends_all() {
        let mut beams = Beams::new(2);
        let first = candidates(&[(-1.0, 0, 5), (-1.1, 0, 6), (-3.0, 0, 7), (-4.0, 0, 8)]);
        assert_eq!(beams.take(&first, &[], 1), Some(vec![5]));
    }
}
