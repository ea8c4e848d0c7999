//! Tests of the graphs that steps run, as libtorch prints them. They are equal on every device.

use std::{env, process::Command};

use tch::Device;

use super::driver::Engine;
use crate::shim;

/// Environment variable and its value, which makes a source file of libtorch print its graphs. Only
/// a child process has it set.
const PRINT: (&str, &str) = ("PYTORCH_JIT_LOG_LEVEL", "profiling_graph_executor_impl");

/// Operations that launch no kernel, because they only reinterpret a tensor.
const VIEWS: [&str; 11] = [
    "prim::ConstantChunk",
    "prim::GetAttr",
    "prim::ListUnpack",
    "aten::__getitem__",
    "aten::narrow",
    "aten::slice",
    "aten::split",
    "aten::t",
    "aten::transpose",
    "aten::unsqueeze",
    "aten::view",
];

/// Returns the number of kernels that the operation launches on a GPU, judged by its name. A
/// possible copy by `reshape` counts.
fn kernels(operation: &str) -> usize {
    match operation {
        "aten::scaled_dot_product_attention" => 3,
        _ if VIEWS.contains(&operation) => 0,
        _ => 1,
    }
}

/// Runs this file's test in a child process. Returns libtorch's output.
fn printed() -> String {
    let test =
        "tokens::tests::graph::optimised_graphs_profile_nothing_and_layers_have_few_operations";
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(PRINT.0, PRINT.1)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr).into_owned();
    assert!(child.status.success(), "{said}");
    said
}

/// Returns the lines of each graph with this title.
fn graphs<'a>(printed: &'a str, title: &str) -> Vec<Vec<&'a str>> {
    let mut graphs: Vec<Vec<&str>> = Vec::new();
    for line in printed.lines().filter_map(|line| Some(line.split_once("] ")?.1)) {
        match line.strip_suffix(": ").or(line.strip_suffix(':')) {
            Some(other) if other.ends_with("Graph") => {
                graphs.push(if other == title { vec![line] } else { Vec::new() });
            }
            _ => graphs
                .last_mut()
                .into_iter()
                .filter(|it| !it.is_empty())
                .for_each(|it| it.push(line)),
        }
    }
    graphs.into_iter().filter(|graph| !graph.is_empty()).collect()
}

/// Returns the operation of a graph's line; `None` if its result is not a tensor.
fn operation(line: &str) -> Option<&str> {
    let (result, rest) = line.split_once(" = ")?;
    let is_tensor = result.ends_with(": Tensor") || result.ends_with(": Tensor[]");
    rest.split(['(', '[']).next().filter(|name| is_tensor && *name != "prim::ListConstruct")
}

#[test]
fn optimised_graphs_profile_nothing_and_layers_have_few_operations() {
    if env::var(PRINT.0).is_ok_and(|value| value == PRINT.1) {
        let mut engine = Engine::of("tiny-llama");
        engine.warm_up().unwrap();
        assert!(!shim::has_cudnn_attention(), "each step would be a new shape to it");
        shim::set_up(Device::Cpu, "fp32", true).map_err(|failure| failure.text).unwrap();
        assert!(shim::has_cudnn_attention());
        return;
    }
    let printed = printed();
    let profiled = graphs(&printed, "Profiled Graph");
    assert!(profiled.iter().flatten().any(|line| line.contains("prim::profile")), "{printed}");
    let optimised = graphs(&printed, "Optimized Graph");
    assert!(optimised.len() >= 3, "prefill, decode and choose");
    for line in optimised.iter().flatten() {
        assert!(!line.contains("prim::profile"), "{line}");
    }
    let decode =
        optimised.iter().find(|graph| graph.iter().any(|line| line.contains("%length.1 : int")));
    let operations: Vec<_> = decode.unwrap().iter().filter_map(|line| operation(line)).collect();
    // Each of the two layers has two norms, and the end of the model has one.
    let norms: Vec<_> =
        (0..operations.len()).filter(|&at| operations[at] == "aten::rms_norm").collect();
    assert_eq!(norms.len(), 5);
    let layer = &operations[norms[2]..norms[4]];
    let launched: usize = layer.iter().map(|operation| kernels(operation)).sum();
    assert!((10..=20).contains(&launched), "{launched} kernels: {layer:?}");
}
