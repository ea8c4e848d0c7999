//! N25 and N26: how samples may be compressed, and what they hold (rules, section 6.2.4); of N2 how many there are for
//! accuracy (section 4.1.1).

use netdiv_contract::{
    encoding::Encoding,
    layout::{self, TensorView},
};

use crate::book::{Benchmark, Compression, ElementType};

/// What is wrong with a data set of that many samples.
pub(crate) fn not_the_whole_set(benchmark: &Benchmark, count: u64) -> Option<String> {
    let all = benchmark.dataset_samples;
    (count != all).then(|| {
        format!(
            "{count} samples, but accuracy is measured over all {all} of the validation set, each once; use that set whole"
        )
    })
}

/// Whether the table allows what an encoding does. That the Working Group has approved it is another matter.
pub(crate) fn may_be_encoded(benchmark: &Benchmark, encoding: Encoding) -> bool {
    encoding == Encoding::None || benchmark.compression != Compression::None
}

/// Whether a sample of so many bytes has more token ids than the benchmark's prompts (Appendix B has their greatest length).
pub(crate) fn too_long(benchmark: &Benchmark, tensors: &[String], bytes: u64) -> Option<String> {
    benchmark.token_latencies.filter(|_| is_allowed_input(benchmark, tensors) == Some(true))?;
    let [tensor] = tensors else { return None };
    let kind = ElementType::all().find(|one| one.is_in(tensor))?;
    // A sample whose length varies says how long it is.
    let shape = vec![0; tensor.split(',').count()];
    let empty = TensorView { data_type: kind.data_type(), shape, data: &[] };
    let before = if tensor.contains('?') { layout::pack(&[empty]).len() as u64 } else { 0 };
    let ids = bytes.saturating_sub(before) / kind.bytes().max(1);
    let most: u64 = benchmark.bandwidth.first()?.ingress.iter().map(|ids| ids.elements).sum();
    (ids > most).then(|| {
        format!(
            "a sample has {ids} token ids, and those of {} have {most} at most: use its data set",
            benchmark.name
        )
    })
}

/// What a sample of the benchmark is.
pub(crate) fn wanted_input(benchmark: &Benchmark) -> String {
    benchmark.inputs(" or ")
}

/// Whether tensors, described as `image uint8 [224, 224, 3]`, are what the benchmark allows; none where no type of them is
/// known.
pub(crate) fn is_allowed_input(benchmark: &Benchmark, tensors: &[String]) -> Option<bool> {
    let is_known = |tensor: &String| ElementType::all().any(|one| one.is_in(tensor));
    let is_allowed = |tensor: &String| benchmark.input_types.iter().any(|one| one.is_in(tensor));
    tensors.iter().any(is_known).then(|| {
        let is_counted = benchmark.inputs.iter().any(|list| list.len() == tensors.len());
        is_counted && tensors.iter().all(is_allowed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Table;

    #[test]
    fn prompts_are_as_long_as_the_benchmark_has_them() {
        let llama = Table::builtin().unwrap().find("llama2-70b-99").unwrap();
        for (tensor, bytes, is_too_long) in [
            ("input_ids int32 [?]", 4 * 1024 + 24, false),
            ("input_ids int32 [?]", 4 * 1025 + 24, true),
            ("input_ids int32 [1, ?]", 4 * 1024 + 32, false),
            ("input_ids int64 [?]", 8 * 1025 + 24, true),
            ("input_ids int32 [1024]", 4 * 1024, false),
            ("input_ids int32 [1025]", 4 * 1025, true),
            ("bytes", 1 << 20, false),
        ] {
            let found = too_long(llama, &[tensor.into()], bytes);
            assert_eq!(found.is_some(), is_too_long, "{tensor} {bytes}: {found:?}");
        }
    }
}
