//! Records of a run besides its result, and the output of `report` and `compare`.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use e2e::{Folder, LoadGen, Outcome, SutNode, process::loadgen_node};
use serde_json::Value;

/// Starts two echo nodes.
fn nodes() -> [SutNode; 2] {
    ["a", "b <i>&"].map(|name| SutNode::echo(name, &[]))
}

fn server(nodes: &[SutNode; 2]) -> Outcome {
    let addresses = nodes.each_ref().map(|node| node.address.as_str());
    // A bound that any machine meets.
    let bound = "server_target_latency_ns=2000000000";
    LoadGen::new(&addresses, "server").short(3300, 300).set(bound).run().expect(0)
}

/// Returns the rows of series.csv, by column name.
fn series(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join("series.csv")).expect("a series");
    reader.deserialize().collect::<Result<_, _>>().expect("rows")
}

fn path(run: &Outcome) -> String {
    run.path("").display().to_string()
}

#[test]
fn a_run_leaves_what_it_counted_in_each_second() {
    let nodes = nodes();
    let run = server(&nodes);
    let next =
        format!("  for a report: loadgen-node report {}\n", path(&run).trim_end_matches('/'));
    assert!(run.stdout.ends_with(&next), "{}", run.stdout);
    let result = run.result();
    let rows = series(&run.path(""));
    let number = |row: &BTreeMap<String, String>, column: &str| -> f64 {
        row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
    };
    let sum = |node: &str, column: &str| -> f64 {
        rows.iter().filter(|row| row["node"] == node).map(|row| number(row, column)).sum()
    };
    for (node, count) in [("a", 0), ("b <i>&", 1)] {
        let told = &result["nodes"][count];
        assert_eq!(told["name"], node);
        for (column, key) in [
            ("sent", "sent"),
            ("completed", "answered"),
            ("bytes_sent", "bytes_sent"),
            ("bytes_received", "bytes_received"),
        ] {
            assert_eq!(Some(sum(node, column)), told[key].as_f64(), "{node} {column}");
        }
    }
    assert_eq!(Some(sum("", "issued")), result["samples"]["issued"].as_f64());
    assert_eq!(Some(sum("", "completed")), result["samples"]["completed"].as_f64());
    let all: Vec<_> = rows.iter().filter(|row| row["node"].is_empty()).collect();
    assert!(all.len() > 1, "{all:?}");
    assert!(all.windows(2).all(|two| two[0]["end_seconds"] == two[1]["start_seconds"]), "{all:?}");
    let last = all.last().expect("an interval");
    assert_eq!((&*last["waiting"], &*last["in_flight"]), ("0", "0"));
    let took = result["test_seconds"].as_f64().expect("seconds");
    // The time of the test is taken when its threads have ended.
    assert!(number(last, "end_seconds") < took + 0.5, "{took} {last:?}");
    assert!(number(last, "end_seconds") > 3.0, "{took} {last:?}");
    // The slowest sample of the run is the slowest of its interval.
    let slowest = all.iter().filter_map(|row| row["max_ns"].parse::<u64>().ok()).max();
    let most = |place: usize| result["nodes"][place]["latency_ns"]["max"].as_u64();
    assert_eq!(slowest, most(0).max(most(1)));
    let started = result["started"].as_str().expect("a time");
    assert!(
        started.starts_with("20") && started.ends_with('Z') && started.len() == 24,
        "{started}"
    );
    let log = run.read("histograms.hlog");
    for tag in ["Tag=0/latency,", "Tag=1/latency,", "Tag=0/compute,", "Tag=1/network,"] {
        assert_eq!(log.matches(tag).count(), 1, "{tag}");
    }
}

#[test]
fn a_page_says_what_the_files_say() {
    let nodes = nodes();
    let run = server(&nodes);
    loadgen_node(&["report", &path(&run)]).expect_text(0, "report.html");
    let page = run.read("report.html");
    assert!(page.len() < 1_000_000, "{}", page.len());
    // The page is self-contained.
    for foreign in ["<script", "<link", "<img", "url(", "@import", "http-equiv"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert_eq!(page.matches("<svg ").count(), 4, "latency, rate, p99, under way");
    assert!(page.contains("b &lt;i&gt;&amp;") && page.contains("VALID"));
    let result = run.result();
    let mut figures = 0;
    for cell in page.split("data-pointer=\"").skip(1) {
        let (pointer, rest) = cell.split_once("\">").expect("a pointer");
        let (text, _) = rest.split_once('<').expect("text");
        match result.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")) {
            Value::String(word) => assert_eq!(word, text),
            value if pointer.contains("_ns") => {
                let ns = value.as_f64().expect("a number");
                assert_eq!(text, format!("{:.3}", ns / 1e6), "{pointer}");
            }
            value => assert_eq!(text, value.to_string(), "{pointer}"),
        }
        figures += 1;
    }
    assert!(figures > 30, "{figures}");

    // The same content as Markdown tables.
    loadgen_node(&["report", "--format", "markdown", &path(&run)])
        .expect_text(0, "**VALID**")
        .expect_text(0, "| a |");
    let text = loadgen_node(&["report", "--format", "csv", &path(&run), &path(&run)]).stdout;
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        table.deserialize().collect::<Result<_, _>>().expect("rows");
    assert_eq!(rows.len(), 6, "{text}");
    assert_eq!(rows[2]["node"], "b <i>&");
    assert_eq!(rows[0]["run"], path(&run));
    assert_eq!(rows[0]["p99_ns"].parse().ok(), result["loadgen_latency_ns"]["99.00"].as_f64());
}

#[test]
fn what_holds_no_run_is_refused() {
    let folder = Folder::create();
    let place = folder.path("");
    for args in [&["report", &place][..], &["compare", &place, &place]] {
        loadgen_node(args).expect_text(2, "result.json");
    }
    let nodes = nodes();
    let run = server(&nodes);
    for (file, content, why) in [
        ("series.csv", "start_seconds,node\n0,a\n", "row 1 is invalid"),
        ("histograms.hlog", "Tag=0/latency,0,1,1,SElTVA==\n", "not a valid log of histograms"),
        ("result.json", "{}", "not a record of a run"),
        ("result.json", "{\"nodes\": [{\"name\": 7}]}", "nodes[0].name: invalid type: integer `7`"),
    ] {
        let whole = run.read(file);
        let report = |why| {
            loadgen_node(&["report", &path(&run)]).expect_text(2, file).expect_text(2, why);
        };
        fs::write(run.path(file), content).expect("a writable folder");
        report(why);
        fs::remove_file(run.path(file)).expect("a writable folder");
        assert!(
            Command::new("mkfifo").arg(run.path(file)).status().expect("Linux has it").success()
        );
        report("it is a pipe");
        fs::remove_file(run.path(file)).expect("a writable folder");
        fs::write(run.path(file), whole).expect("a writable folder");
    }
    // Runs without records, from older releases, still have a page.
    for file in ["series.csv", "histograms.hlog"] {
        fs::remove_file(run.path(file)).expect("a writable folder");
    }
    let page = loadgen_node(&["report", "--output", "-", &path(&run)]).expect(0).stdout;
    assert!(page.contains("no histograms") && page.contains("no record of each second"));
    assert!(!page.contains("<svg "));
}

#[test]
fn runs_are_compared_with_a_baseline() {
    let nodes = nodes();
    let slow = ["a", "b"].map(|name| SutNode::echo(name, &["--echo-batch", "30ms"]));
    let [fast, faster] = [server(&nodes), server(&nodes)];
    let slow = [server(&slow), server(&slow)];
    // Repeated runs are in one folder per side.
    let folder = Folder::create();
    let side = |name: &str, runs: [&Outcome; 2]| {
        for (number, run) in runs.iter().enumerate() {
            for file in ["result.json", "series.csv", "histograms.hlog"] {
                folder.write(&format!("{name}/{number}/{file}"), run.read(file));
            }
        }
        folder.path(name)
    };
    let (base, worse) = (side("base", [&fast, &faster]), side("worse", [&slow[0], &slow[1]]));
    let page = folder.path("compared.html");
    let p50_of = |found: &Value| {
        let figures = found["figures"].as_array().expect("figures");
        figures.iter().find(|figure| figure["name"] == "latency p50").expect("a figure").clone()
    };
    let compare = ["compare", &base, &worse, "--json", "-", "--html", &page];
    let found = loadgen_node(&compare).expect(1).json();
    let p50 = p50_of(&found);
    assert_eq!(p50["changes"][0]["judgement"], "worse", "{p50}");
    assert_eq!(p50["spreads"][1]["runs"], 2);
    assert!(p50["spreads"][1]["least"].as_f64() > Some(30e6), "{p50}");
    let differs = found["differences"].to_string();
    assert!(differs.contains("configurations of nodes"), "{differs}");
    let html = folder.read("compared.html");
    assert!(html.contains("<svg ") && html.contains("worse"));

    // With one run on each side, the noise is unknown, unless a tolerance decides.
    let (one, other) = (format!("{base}/0"), format!("{worse}/0"));
    for (more, judgement) in [(&[][..], "unknown"), (&["--tolerance", "5%"], "worse")] {
        let args = [&["compare", &one, &other, "--json", "-"][..], more].concat();
        let p50 = p50_of(&loadgen_node(&args).json());
        assert_eq!(p50["changes"][0]["judgement"], judgement, "{p50}");
    }

    // In reverse the result is better, and a run compared with itself has no changes.
    loadgen_node(&["compare", &worse, &base, "--tolerance", "1000%"]).expect(0);
    loadgen_node(&["compare", &base, &base, "--tolerance", "0%"])
        .expect_text(0, "no differences in settings");

    // Runs that cannot be compared are refused.
    let [a, b] = nodes.each_ref().map(|node| node.address.as_str());
    let offline = LoadGen::new(&[a, b], "offline").short(500, 300).run();
    loadgen_node(&["compare", &base, &path(&offline)]).expect_text(2, "only runs of one benchmark");
    for wrong in [&["compare", &base][..], &["compare", &base, &worse, "--tolerance", "5"]] {
        loadgen_node(wrong).expect(2);
    }

    // A folder of runs has an index, which names what it cannot read. Steps that a sweep has set aside
    // are no runs.
    folder.write("base/2/result.json", "{}");
    folder.write("base/0.unfinished-1/result.json", "{}");
    loadgen_node(&["report", &base]).expect_text(0, "report.html");
    let index = folder.read("base/report.html");
    for part in ["href=\"./0\"", "href=\"./1\"", "base/2/result.json: it is not a record of a run"]
    {
        assert!(index.contains(part), "{part}");
    }
    assert!(!index.contains("unfinished"), "{index}");
    loadgen_node(&["report", "--format", "csv", &base]).expect_text(2, "base/2/result.json");
    // Runs of the same name in several folders have different names.
    fs::remove_file(folder.path("base/2/result.json")).expect("a writable folder");
    loadgen_node(&["report", "--format", "csv", &base, &worse])
        .expect_text(0, "base/0,")
        .expect_text(0, "worse/0,");
}

#[test]
fn a_run_that_fails_leaves_what_there_was() {
    let nodes = nodes();
    let [a, b] = nodes.each_ref().map(|node| node.address.as_str());
    let run = LoadGen::new(&[a, b], "server").short(60_000, 300).start();
    run.wait_for_test();
    let series = run.log().with_file_name("series.csv");
    e2e::process::wait_until("two intervals", || {
        fs::read_to_string(&series).is_ok_and(|text| text.lines().count() > 6)
    });
    drop(nodes);
    let outcome = run.wait().expect(3);
    let page = loadgen_node(&["report", "--output", "-", &path(&outcome)]).expect(0).stdout;
    assert!(page.contains("FAILED") && page.contains("<svg "), "{}", page.len());
}
