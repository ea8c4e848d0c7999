use clap::Parser as _;

use super::*;

#[derive(clap::Parser)]
struct FabricCommandLine {
    #[command(flatten)]
    args: FabricArgs,
}

/// Returns the plan that these options make for a number of nodes.
fn plan(nodes: usize, options: &[&str]) -> Result<Plan, RunError> {
    let nodes: Vec<_> = (1..=nodes).map(|port| format!("127.0.0.1:{port}")).collect();
    let nodes = nodes.join(",");
    let line = ["fabric", "--nodes", &nodes].into_iter().chain(options.iter().copied());
    let parsed = FabricCommandLine::try_parse_from(line);
    parsed.map_err(RunError::invalid)?.args.resolve(DnsNames::LookUp)
}

#[test]
fn half_a_minute_is_enough_unless_more_is_asked_for() {
    let seconds = |nodes, options: &[&str]| plan(nodes, options).unwrap().estimate(64).as_secs();
    for nodes in [1, 8, 64] {
        assert!(seconds(nodes, &[]) <= 30, "{nodes} nodes: {} s", seconds(nodes, &[]));
    }
    assert!(seconds(4, &["--matrix"]) <= 60);
    assert!(seconds(1, &["--thorough"]) > 240);
    assert!(seconds(4, &["--matrix", "--thorough"]) > 240);
}

#[test]
fn options_go_before_both_plans() {
    let given = ["--sizes", "5,3", "--duration", "2s", "--warm-up", "0s", "--rounds", "2"];
    for more in [&[][..], &["--thorough"], &["--matrix"], &["--matrix", "--thorough"]] {
        let plan = plan(2, &[&given[..], more].concat()).unwrap();
        let Times { warm_up, duration } = plan.times;
        assert_eq!((warm_up, duration), (Duration::ZERO, Duration::from_secs(2)), "{more:?}");
        assert_eq!((&plan.sizes[..], plan.rounds), (&[3, 5][..], 2), "{more:?}");
        assert_eq!(plan.round_trips, Duration::MAX);
    }
    let thorough = plan(1, &["--thorough"]).unwrap();
    assert_eq!(thorough.sizes, THOROUGH.sizes);
    assert_eq!(thorough.times.duration, Duration::from_secs(5));
    for long in [&["--soak", "1h"][..], &["--rate", "5"]] {
        assert_eq!(plan(1, long).unwrap().times.warm_up, Duration::from_secs(1), "{long:?}");
        assert!(plan(1, &[long, &["--thorough"]].concat()).is_err());
    }
}

#[test]
fn the_sizes_of_a_target_are_measured() {
    let sizes = |options: &[&str]| plan(1, options).unwrap().sizes;
    assert_eq!(sizes(&["--target", "resnet50=5"]), [64, 16 << 10, 150_528, 1 << 20]);
    assert_eq!(sizes(&["--target", "bert=5,rgat=5"]), [64, 9216, 16 << 10, 1 << 20]);
    assert_eq!(sizes(&["--target", "bert-99=5"]), sizes(&["--target", "bert=5"]));
    assert_eq!(sizes(&["--target", "resnet50=5", "--sizes", "64"]), [64]);
}

#[test]
fn a_misspelt_benchmark_is_refused_with_the_one_that_was_meant() {
    for (options, want) in [
        (["--benchmark", "resnt50"], "--benchmark resnt50: unknown (did you mean resnet50"),
        (["--benchmark", "digits,bert-9"], "--benchmark bert-9: unknown (did you mean bert-99"),
        (["--target", "resnt50=5"], "(did you mean resnet50"),
        (["--target", "bert-99=5,bert=5"], "--target: bert is given twice"),
    ] {
        let error = plan(1, &options).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn only_a_settings_file_may_name_a_benchmark_of_unknown_bandwidth() {
    let check = |names: &str| {
        let line = FabricCommandLine::try_parse_from(["fabric", "--benchmark", names]).unwrap();
        line.args.check_benchmarks()
    };
    check("bert-99, llama2-70b").unwrap();
    for (names, name) in [("yolo", "yolo"), ("bert-99,digits", "digits")] {
        let error = check(names).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("--benchmark {name}: choose one of resnet50, ")),
            "{error}"
        );
    }
    kind("benchmark = 'a-model-of-our-own,sorting'").unwrap();
}

fn kind(text: &str) -> Result<MeasurementKind, RunError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fabric.toml");
    std::fs::write(&file, text).unwrap();
    netdiv_node_common::process::read_settings::<FabricArgs>(&file).unwrap().kind()
}

#[test]
fn a_benchmark_is_named_as_for_a_run() {
    let both = "benchmark = 'bert-99'\ntarget = ['rgat=5']";
    for (text, want) in [
        ("benchmark = 'bert-99'", &["bert"][..]),
        ("benchmark = 'digits'", &[]),
        ("benchmark = 'resnet50, llama2-70b'", &["resnet50", "resnet50-fp32", "llama2-70b"]),
        (both, &["bert", "rgat"]),
    ] {
        let Ok(MeasurementKind::Sweep { needs, .. }) = kind(text) else { panic!("{text}") };
        assert_eq!(needs.iter().map(|need| &need.name[..]).collect::<Vec<_>>(), want);
    }
    let Ok(MeasurementKind::Sweep { needs, .. }) = kind("") else { panic!("all sizes") };
    assert!(needs.is_empty(), "no benchmark is requested");
    for (text, want) in [
        ("benchmark = 'bert-99,llama2-70b'", &[Some("bert"), Some("llama2-70b")][..]),
        ("benchmark = 'bert-99'\nsizes = [64]", &[None]),
    ] {
        let text = format!("rate = 5.0\n{text}");
        let Ok(MeasurementKind::OpenLoop { shapes, .. }) = kind(&text) else { panic!("{text}") };
        let names = shapes.iter().map(|(name, _)| name.as_deref());
        assert_eq!(names.collect::<Vec<_>>(), want, "{text}");
    }
    assert!(matches!(kind("soak = '1s'\nbenchmark = 'bert-99'"), Ok(MeasurementKind::Soak)));
    let refused = kind("rate = 5.0\nbenchmark = 'digits'").err().unwrap().to_string();
    assert!(refused.starts_with("--benchmark digits: choose one of"), "{refused}");
}
