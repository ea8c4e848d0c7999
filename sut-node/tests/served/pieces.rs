//! Checks that a response has the same token ids for any division of its bytes into pieces.

use bytes::Bytes;
use proptest::prelude::*;

use super::fake::recorded;
use crate::engine::{
    remote::testing::tiny,
    served::{
        dry_run::read_answer,
        settings::Dialect::{self, Llamacpp, Sglang, Trtllm, Vllm},
    },
};

const STREAMS: [(&str, Dialect); 5] = [
    ("vllm_stream", Vllm),
    ("llama_stream", Llamacpp),
    ("sglang_cumulative", Sglang),
    ("sglang_incremental", Sglang),
    ("trtllm_stream", Trtllm),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_cuts_give_the_same_ids(
        stream in 0..STREAMS.len(),
        cuts in prop::collection::vec(0..3000usize, 0..40),
    ) {
        let (name, dialect) = STREAMS[stream];
        let body = Bytes::from(recorded(name).1);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| body.slice(cut[0]..cut[1]));
        let (taken, outcome) = read_answer(dialect, &tiny(4, &[]), 4, pieces);
        prop_assert_eq!((taken, outcome), (vec![291, 1611, 379, 410], Ok(())));
    }

    #[test]
    fn an_answer_that_is_broken_never_ends_well_with_other_ids(
        stream in 0..STREAMS.len(),
        place in 0..3000usize,
        byte: u8,
        end in 0..3000usize,
    ) {
        let (name, dialect) = STREAMS[stream];
        let mut body = recorded(name).1;
        let whole = body.len();
        body.truncate(whole.min(end.max(whole / 2)));
        if let Some(old) = body.get_mut(place).filter(|old| !old.is_ascii_digit()) {
            *old = byte;
        }
        let body = [Bytes::from(body)].into_iter();
        let (taken, outcome) = read_answer(dialect, &tiny(4, &[]), 4, body);
        // A digit may become part of another id. Only dialects that send all ids twice can detect
        // that.
        if outcome.is_ok() && !byte.is_ascii_digit() {
            prop_assert_eq!(taken, vec![291, 1611, 379, 410]);
        }
    }
}
