//! Limits on samples: contents, for N26 (rules, section 6.2.4), and their number in accuracy runs,
//! for N2 (section 4.1.1).

use netdiv_contract::layout::{self, TensorView};

use crate::{
    book::{Benchmark, ElementType},
    record::Prepared,
};

/// Returns a text if `count` samples are not the whole data set.
pub(crate) fn check_sample_count(benchmark: &Benchmark, count: u64) -> Option<String> {
    let all = benchmark.dataset_samples;
    (count != all).then(|| {
        format!(
            "{count} samples, but accuracy is measured over all {all} of the validation set, each once; use the whole set"
        )
    })
}

/// Returns the reason why a data set must not be used for a benchmark, by the manifests of its
/// parts: it was prepared for another benchmark, is another subset, or is incomplete although the
/// run measures accuracy (`accurate`). A part without a manifest is not judged.
pub(crate) fn check_manifests(
    benchmark: &Benchmark,
    prepared: &[Prepared],
    accurate: bool,
) -> Option<String> {
    prepared.iter().find_map(|part| {
        let Prepared { data_set, benchmark: made_for, subset, complete, .. } = part;
        let is_for = |name: &str| {
            let rest = name.strip_prefix(made_for.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        if !is_for(&benchmark.name) {
            let name = &benchmark.name;
            return Some(format!("{data_set} was prepared for {made_for}, not for {name}"));
        }
        if subset != "validation" {
            return Some(format!("{data_set} is the {subset} subset; use the validation set"));
        }
        let practice = "was prepared for practice, and is not the published set";
        (accurate && !complete).then(|| format!("{data_set} {practice}: prepare all of it"))
    })
}

/// Returns a text if a sample of `bytes` bytes has more token ids than the benchmark's prompts may
/// have. Of several tensors, the first contains the ids.
pub(crate) fn check_prompt_length(
    benchmark: &Benchmark,
    tensors: &[String],
    bytes: u64,
) -> Option<String> {
    is_allowed_input(benchmark, tensors).filter(|is_allowed| *is_allowed)?;
    let most = benchmark.tokens()?.prompt;
    let ids = match tensors {
        [tensor] => in_bytes(tensor, bytes)?,
        tensors => in_shape(tensors.first()?)?,
    };
    (ids > most).then(|| {
        format!(
            "a sample has {ids} token ids, but {} has at most {most}: use its data set",
            benchmark.name
        )
    })
}

/// Returns the number of elements of a tensor that is the whole sample, computed from the sample's
/// length in bytes.
fn in_bytes(tensor: &str, bytes: u64) -> Option<u64> {
    let kind = ElementType::of(tensor)?;
    // A sample of variable length begins with a table that contains its shape.
    let shape = vec![0; tensor.split(',').count()];
    let empty = TensorView { data_type: kind.data_type(), shape, data: &[] };
    let before = if tensor.contains('?') { layout::pack(&[empty]).len() as u64 } else { 0 };
    Some(bytes.saturating_sub(before) / kind.bytes().max(1))
}

/// Returns the number of elements of a tensor, computed from its shape; `None` if the shape varies.
pub(crate) fn in_shape(tensor: &str) -> Option<u64> {
    let (_, shape) = tensor.split_once('[')?;
    let mut sizes = shape.trim_end().strip_suffix(']')?.split(',').map(|size| size.trim().parse());
    sizes.try_fold(1_u64, |all, size| Some(all.saturating_mul(size.ok()?)))
}

/// Text of a record about a sample of bytes whose meaning is unknown.
const BYTES: &str = "bytes";

/// Returns true if the benchmark permits the tensors, described as `image uint8 [224, 224, 3]`;
/// `None` if no element type is known. Bytes of unknown meaning may be a compressed file of the
/// data set, if it has such files.
pub(crate) fn is_allowed_input(benchmark: &Benchmark, tensors: &[String]) -> Option<bool> {
    let is_known = |tensor: &String| {
        let is_no_file = tensor == BYTES && benchmark.original_compression.is_none();
        is_no_file || ElementType::of(tensor).is_some()
    };
    let is_allowed = |tensor: &String| benchmark.input_types.iter().any(|one| one.is_in(tensor));
    let is_stated = !benchmark.inputs.is_empty();
    (is_stated && tensors.iter().any(is_known)).then(|| {
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
            let found = check_prompt_length(llama, &[tensor.into()], bytes);
            assert_eq!(found.is_some(), is_too_long, "{tensor} {bytes}: {found:?}");
        }
    }

    #[test]
    fn of_several_tensors_the_first_has_the_ids() {
        let llama = Table::builtin().unwrap().find("llama2-70b-99").unwrap();
        for (shape, is_too_long) in [
            ("[1024]", false),
            ("[1, 1024]", false),
            ("[1025]", true),
            ("[2, 1024]", true),
            ("[18446744073709551615, 2]", true),
            ("[?]", false),
            ("[]", false),
        ] {
            let tensors = ["input_ids", "input_mask", "lengths"].map(|name| {
                format!("{name} int32 {}", if name == "lengths" { "[1]" } else { shape })
            });
            let found = check_prompt_length(llama, &tensors, 2 * 4 * 1024 + 4);
            assert_eq!(found.is_some(), is_too_long, "{shape}: {found:?}");
        }
    }
}
