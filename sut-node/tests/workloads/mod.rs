//! Runs each workload with a model that the test itself provides. Checks the inputs of the model,
//! and the responses that the workload makes of the outputs.

use std::fs;

use bytes::Bytes;
use netdiv_contract::layout::{DataType, TensorView, pack};

use crate::model::{
    manifest::{Manifest, ModelFile},
    workload::Pass,
    workloads::dry_run::DryRun,
};

/// A model, which reads the inputs of a pass and writes its outputs.
type TestModel<'a> = &'a mut dyn FnMut(&Pass, &[&[u8]], &mut [&mut [u8]]);

fn workload(manifest: &str) -> Result<DryRun, String> {
    let head = "name = 'toy'\nmodel = 'toy.pt'\nprecision = 'fp32'\n";
    let file = ModelFile::new("model.toml".as_ref(), format!("{head}{manifest}"));
    Manifest::of(&file).map_err(|error| error.to_string()).and_then(DryRun::new)
}

/// Returns the response to each sample of a batch, or the reason why it is missing.
fn answers(
    manifest: &str,
    samples: &[Bytes],
    model: TestModel<'_>,
) -> Vec<Result<Vec<u8>, String>> {
    let answers = workload(manifest).unwrap().answers(samples, model).into_iter();
    answers.map(|answer| answer.map(Into::into)).collect()
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn ints(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns a sample of several tensors, each with its type, shape and bytes.
fn packed(tensors: &[(DataType, &[usize], &[u8])]) -> Bytes {
    let views = tensors.iter().map(|(data_type, shape, data)| TensorView {
        data_type: *data_type,
        shape: shape.to_vec(),
        data,
    });
    pack(&views.collect::<Vec<_>>())
}

const LABELS: &str = "workload = 'image-classification'\n\
    inputs = [{ name = 'x', data_type = 'float32', shape = [3] }]\n\
    outputs = [{ name = 'y', data_type = 'float32', shape = [3] }]\n";

#[test]
fn a_label_is_the_first_largest_logit_or_the_first_that_is_no_number() {
    let samples = [[1.0, 3.0, 3.0], [-2.0, -1.0, -3.0], [f32::INFINITY, f32::NAN, f32::NAN]];
    let samples = samples.map(|logits| Bytes::from(floats(&logits)));
    let got = answers(LABELS, &samples, &mut |pass, inputs, outputs| {
        assert_eq!((pass.rows, inputs[0].len()), (3, 36));
        outputs[0].copy_from_slice(inputs[0]);
    });
    let want: Vec<_> = [1_i32, 1, 1].iter().map(|label| Ok(label.to_le_bytes().to_vec())).collect();
    assert_eq!(got, want);
}

#[test]
fn a_jpeg_that_cannot_be_decoded_takes_no_other_sample_with_it() {
    let manifest = "workload = 'image-classification'\n\
        inputs = [{ name = 'x', data_type = 'uint8', shape = [4, 4, 3] }]\n\
        outputs = [{ name = 'y', data_type = 'float32', shape = [2] }]\n\
        [parameters]\nsamples = 'jpeg'\n";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/models/resnet50-jpeg");
    let image = fs::read(format!("{folder}/0.jpg")).unwrap();
    let samples = [Bytes::from_static(b"no image"), Bytes::from(image)];
    let got = answers(manifest, &samples, &mut |_, _, outputs| {
        outputs[0].copy_from_slice(&floats(&[0.0, 1.0, 0.0, 1.0]));
    });
    assert!(got[0].is_err() && got[1] == Ok(1_i32.to_le_bytes().to_vec()), "{got:?}");
}

const GRAPH: &str = "workload = 'node-classification'\n\
    inputs = [{ name = 'n', data_type = 'int64', shape = [1] }]\n\
    outputs = [{ name = 'y', data_type = 'float32', shape = [2] }]\n\
    [parameters]\nnodes = 10\n";

#[test]
fn a_number_beyond_the_graph_reaches_no_model() {
    let samples = [9, 10, -1, 0].map(|number| Bytes::from(ints(&[number])));
    let mut seen = Vec::new();
    let got = answers(GRAPH, &samples, &mut |_, inputs, outputs| {
        seen.extend_from_slice(inputs[0]);
        outputs[0].copy_from_slice(&floats(&[0.0, 1.0, 1.0, 0.0]));
    });
    assert_eq!(seen, ints(&[9, 0]));
    let class = |class: i32| Ok(class.to_le_bytes().to_vec());
    assert_eq!((&got[0], &got[3]), (&class(1), &class(0)));
    for (answer, number) in got[1..3].iter().zip(["node 10", "node -1"]) {
        assert!(answer.as_ref().is_err_and(|why| why.contains(number)), "{answer:?}");
    }
}

/// Returns a manifest of question answering. `samples` is `ids` for samples of token ids alone, or
/// `tensors` for samples of all three tensors.
fn squad(samples: &str) -> String {
    let tensor = |name| format!("{{ name = '{name}', data_type = 'int64', shape = ['length'] }}");
    let logits = |name| format!("{{ name = '{name}', data_type = 'float32', shape = ['length'] }}");
    format!(
        "workload = 'question-answering'\ninputs = [{}, {}, {}]\noutputs = [{}, {}]\n\
         [parameters]\nsamples = '{samples}'\nseparator = 7\nmax_tokens = 4\nvocabulary = 9\n",
        tensor("ids"),
        tensor("mask"),
        tensor("segments"),
        logits("start"),
        logits("end")
    )
}

#[test]
fn ids_get_a_mask_and_segments_and_are_padded_to_the_longest() {
    let sample = |ids: &[i64]| packed(&[(DataType::Int64, &[ids.len()], &ints(ids))]);
    let samples = [sample(&[1, 7, 2, 0]), sample(&[3]), sample(&[1, 2, 3, 4, 5]), sample(&[9])];
    let got = answers(&squad("ids"), &samples, &mut |pass, inputs, outputs| {
        assert_eq!((pass.rows, &pass.lengths[..]), (4, &[3][..]));
        let of = |numbers: &[i64]| ints(numbers);
        assert_eq!(inputs[0], of(&[1, 7, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(inputs[1], of(&[1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
        // The separator itself belongs to the question.
        assert_eq!(inputs[2], of(&[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        let numbers: [f32; 12] = std::array::from_fn(|number| number as f32);
        outputs[0].copy_from_slice(&floats(&numbers));
        outputs[1].copy_from_slice(&floats(&numbers.map(|number| -number)));
    });
    assert_eq!(got[0], Ok(floats(&[0.0, -0.0, 1.0, -1.0, 2.0, -2.0])));
    assert_eq!(got[1], Ok(floats(&[3.0, -3.0])));
    for (answer, words) in got[2..].iter().zip(["5 tokens without padding", "from 0 to 8"]) {
        assert!(answer.as_ref().is_err_and(|why| why.contains(words)), "{answer:?}");
    }
}

#[test]
fn tensors_of_a_question_are_of_one_length_and_segments_are_0_or_1() {
    let sample = |ids: &[i64], mask: &[i64], segments: &[i64]| {
        let of = [ids, mask, segments].map(|numbers| (numbers.len(), ints(numbers)));
        let shapes = of.each_ref().map(|(length, _)| [*length]);
        let tensors = of.iter().zip(&shapes);
        let tensors: Vec<_> = tensors
            .map(|((_, data), shape)| (DataType::Int64, &shape[..], data.as_slice()))
            .collect();
        packed(&tensors)
    };
    let samples = [
        sample(&[1, 2], &[1, 1], &[0, 1]),
        sample(&[1, 2], &[1], &[0, 1]),
        sample(&[1, 2], &[1, 1], &[0, 2]),
        sample(&[0, 0], &[0, 0], &[0, 0]),
    ];
    let got = answers(&squad("tensors"), &samples, &mut |_, _, _| ());
    assert_eq!(got[0], Ok(vec![0; 16]));
    for (answer, words) in got[1..].iter().zip(["differ in length", "a segment", "0 tokens"]) {
        assert!(answer.as_ref().is_err_and(|why| why.contains(words)), "{answer:?}");
    }
}

const CLICKS: &str = "workload = 'recommendation'\n\
    inputs = [{ name = 'd', data_type = 'float32', shape = [1] }, { name = 's', data_type = 'int64', shape = [2] }]\n\
    outputs = [{ name = 'y', data_type = 'float32', shape = [1] }]\n\
    [parameters]\nindex_limits = [5, 3]\n";

#[test]
fn pairs_of_all_samples_are_joined_and_answers_are_divided_again() {
    let sample = |dense: &[f32], sparse: &[i64]| {
        packed(&[
            (DataType::Float32, &[dense.len(), 1], &floats(dense)),
            (DataType::Int64, &[sparse.len() / 2, 2], &ints(sparse)),
        ])
    };
    let samples = [
        sample(&[1.0, 2.0], &[4, 2, 0, 0]),
        sample(&[9.0], &[5, 0]),
        sample(&[], &[]),
        sample(&[9.0], &[0, 0, 1, 1]),
        sample(&[3.0], &[1, 1]),
    ];
    let got = answers(CLICKS, &samples, &mut |pass, inputs, outputs| {
        assert_eq!((pass.rows, inputs[0]), (3, &floats(&[1.0, 2.0, 3.0])[..]));
        assert_eq!(inputs[1], ints(&[4, 2, 0, 0, 1, 1]));
        outputs[0].copy_from_slice(inputs[0]);
    });
    assert_eq!((&got[0], &got[4]), (&Ok(floats(&[1.0, 2.0])), &Ok(floats(&[3.0]))));
    let words =
        ["index 5 in a table of length 5", "has no pairs", "has the length 1, but the second 2"];
    for (answer, words) in got[1..4].iter().zip(words) {
        assert!(answer.as_ref().is_err_and(|why| why.contains(words)), "{answer:?}");
    }
}

#[test]
fn tensors_of_one_length_run_together_and_answers_keep_the_order_of_the_samples() {
    let manifest = "workload = 'tensors'\n\
        inputs = [{ name = 'x', data_type = 'uint8', shape = ['n'] }]\n\
        outputs = [{ name = 'y', data_type = 'uint8', shape = ['n'] }]\n";
    let sample = |bytes: &[u8]| packed(&[(DataType::Uint8, &[bytes.len()], bytes)]);
    let samples = [sample(&[1]), sample(&[2, 3]), sample(&[4]), sample(&[5, 6])];
    let mut passes = Vec::new();
    let got = answers(manifest, &samples, &mut |pass, inputs, outputs| {
        passes.push((pass.rows, pass.lengths.clone()));
        outputs[0].copy_from_slice(inputs[0]);
    });
    assert_eq!(passes, [(2, vec![1]), (2, vec![2])]);
    assert_eq!(got, [Ok(vec![1]), Ok(vec![2, 3]), Ok(vec![4]), Ok(vec![5, 6])]);
}

#[test]
fn a_manifest_that_does_not_fit_its_workload_is_refused() {
    for (manifest, from, to, words) in [
        (LABELS, "'y', data_type = 'float32'", "'y', data_type = 'int32'", "y must be float32"),
        (LABELS, "shape = [3] }]\n", "shape = ['n'] }]\n", "must have fixed lengths"),
        (GRAPH, "nodes = 10", "nodes = 0", "nodes must be at least 1"),
        (GRAPH, "nodes = 10", "node = 10", "unknown field `node`"),
        (GRAPH, "shape = [1]", "shape = [2]", "must have the shape [1]"),
        (CLICKS, "[5, 3]", "[5]", "index_limits has the length 1; expected 2"),
        (
            CLICKS,
            "'y', data_type = 'float32', shape = [1]",
            "'y', data_type = 'float32', shape = [2]",
            "one float32",
        ),
        (&squad("ids"), "vocabulary = 9", "vocabulary = 0", "vocabulary must be at least 1"),
        (
            &squad("ids"),
            "'mask', data_type = 'int64'",
            "'mask', data_type = 'int32'",
            "of one type",
        ),
    ] {
        assert!(manifest.contains(from), "{from}");
        let refused = workload(&manifest.replacen(from, to, 1)).map(drop).unwrap_err();
        assert!(refused.contains(words), "{to}: {refused}");
    }
}
