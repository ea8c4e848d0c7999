//! Speed in TEST01 and TEST04.

use super::{
    inputs::{log, summary},
    *,
};

/// Change to a summary's text.
type SummaryEdit = fn(String) -> String;

const SAME: SummaryEdit = |text| text;
const INVALID: SummaryEdit = |text| text.replace("Result is : VALID", "Result is : INVALID");
const ERROR: SummaryEdit = |text| text.replace("No errors encountered", "3 ERRORS encountered");

const MISSING: SummaryEdit = |_| String::new();
const SERVER: SummaryEdit = |_| summary("Server", "1000");
const DOS: SummaryEdit = |text| text.replace('\n', "\r\n");
const NO_SCORE: SummaryEdit = |text| text.replace("Samples per second: 1000\n", "");
const NO_RESULT: SummaryEdit = |text| text.replace("Result is : VALID\n", "");
const NO_SCENARIO: SummaryEdit = |text| text.replace("Scenario : ", "Scenario ");
const NO_LATENCY: SummaryEdit = |text| text.replace("target_latency (ns): 15000000\n", "");
const OTHER_LATENCY: SummaryEdit = |text| text.replace("15000000", "50000000");
const NO_SEED: SummaryEdit = |text| text.replace("720381539243781796", "0");
const NOT_SAME: SummaryEdit = |text| text.replace("issue_same : 1", "issue_same : 0");

/// Row of a table of cases: name, scenario, scores of the reference and of the compliance run,
/// edits of the two summaries, true if the official script passes, and our verdict.
type SpeedRow = (&'static str, &'static str, [&'static str; 2], [SummaryEdit; 2], bool, OurVerdict);

fn case(test: Test, (name, scenario, scores, edits, official, ours): SpeedRow) -> ComplianceCase {
    let [reference, summary] = [0, 1].map(|i| edits[i](summary(scenario, scores[i])));
    let log = log(&[(0, "01000000"), (1, "02000000")]);
    ComplianceCase {
        test,
        name,
        benchmark: "resnet50",
        dtype: "int32",
        accuracy_log: log.clone(),
        log,
        reference,
        summary,
        official,
        ours,
    }
}

pub(super) fn test01() -> Vec<ComplianceCase> {
    #[rustfmt::skip]
    let rows: &[SpeedRow] = &[
        ("offline 9.9 percent slower", "Offline", ["1000", "901"], [SAME; 2], true, Pass),
        ("offline 10 percent slower", "Offline", ["1000", "900"], [SAME; 2], false, Fail),
        ("offline 9.9 percent faster", "Offline", ["1000", "1099"], [SAME; 2], true, Pass),
        ("offline 10.1 percent faster", "Offline", ["1000", "1101"], [SAME; 2], false, Fail),
        ("offline in scientific notation", "Offline", ["1.2e+06", "1.19e+06"], [SAME; 2], true, Pass),
        ("server within the margin", "Server", ["996.34", "990.00"], [SAME; 2], true, Pass),
        ("server too slow", "Server", ["996.34", "896.00"], [SAME; 2], false, Fail),
        ("server with another target latency", "Server", ["996.34", "990.00"], [SAME, OTHER_LATENCY], true, Stricter),
        ("server with one target latency", "Server", ["996.34", "990.00"], [NO_LATENCY, SAME], true, Stricter),
        ("reference invalid", "Server", ["996.34", "996.34"], [INVALID, SAME], false, Fail),
        ("test invalid", "Server", ["996.34", "996.34"], [SAME, INVALID], false, Fail),
        ("both invalid", "Offline", ["1000", "1000"], [INVALID, INVALID], false, Fail),
        ("another scenario", "Offline", ["1000", "1000"], [SAME, SERVER], false, Fail),
        ("errors are only warned of", "Offline", ["1000", "1000"], [ERROR, ERROR], true, Pass),
        ("single stream 15 percent off at 0.15 ms", "SingleStream", ["150000", "172500"], [SAME; 2], true, Pass),
        ("single stream 25 percent off at 0.15 ms", "SingleStream", ["150000", "187500"], [SAME; 2], false, Fail),
        ("single stream 15 percent off at 0.3 ms", "SingleStream", ["300000", "345000"], [SAME; 2], false, Fail),
        ("multi stream 15 percent off at 1.6 ms", "MultiStream", ["1600000", "1840000"], [SAME; 2], true, Pass),
        ("multi stream 15 percent off above 1.6 ms", "MultiStream", ["1600001", "1840000"], [SAME; 2], false, Fail),
        ("no score", "Offline", ["1000", "1000"], [SAME, NO_SCORE], false, Refused),
        ("score is no number", "Offline", ["1000", "fast"], [SAME; 2], false, Refused),
        ("score is nan", "Offline", ["1000", "-nan"], [SAME; 2], false, Refused),
        ("no result line", "Offline", ["1000", "1000"], [SAME, NO_RESULT], true, Refused),
        ("scenario without a value", "Offline", ["1000", "1000"], [SAME, NO_SCENARIO], false, Refused),
        ("lines end as in dos", "Offline", ["1000", "1000"], [SAME, DOS], true, Pass),
        ("audit.config was not in effect", "Offline", ["1000", "1000"], [SAME, NO_SEED], true, Refused),
        ("summary is missing", "Offline", ["1000", "1000"], [SAME, MISSING], false, Refused),
        ("reference is missing", "Offline", ["1000", "1000"], [MISSING, SAME], false, Refused),
    ];
    rows.iter().map(|row| case(Test::Test01, *row)).collect()
}

pub(super) fn test04() -> Vec<ComplianceCase> {
    #[rustfmt::skip]
    let rows: &[SpeedRow] = &[
        ("offline 9.9 percent faster", "Offline", ["1000", "1099"], [SAME; 2], true, Pass),
        ("offline 10.1 percent faster", "Offline", ["1000", "1101"], [SAME; 2], false, Fail),
        ("offline much slower", "Offline", ["1000", "1"], [SAME; 2], true, Pass),
        ("server as fast", "Server", ["996.34", "996.34"], [SAME; 2], true, Pass),
        ("server faster", "Server", ["996.34", "1996.34"], [SAME; 2], false, Fail),
        ("single stream 15 percent faster", "SingleStream", ["300000", "260869"], [SAME; 2], true, Pass),
        ("single stream 25 percent faster", "SingleStream", ["300000", "240000"], [SAME; 2], false, Fail),
        ("single stream 15 percent faster at 4 us", "SingleStream", ["4000", "3478"], [SAME; 2], false, Fail),
        ("multi stream 15 percent faster", "MultiStream", ["1700000", "1478260"], [SAME; 2], true, Pass),
        ("single stream without latency", "SingleStream", ["0", "240000"], [SAME; 2], false, Refused),
        ("reference invalid", "Server", ["996.34", "996.34"], [INVALID, SAME], false, Fail),
        ("test invalid", "Server", ["996.34", "996.34"], [SAME, INVALID], false, Fail),
        ("another scenario", "Offline", ["1000", "1000"], [SAME, SERVER], false, Fail),
        ("no score", "Offline", ["1000", "1000"], [SAME, NO_SCORE], true, Refused),
        ("no score at either end", "Offline", ["1000", "1000"], [NO_SCORE; 2], false, Refused),
        ("test score is negative", "Offline", ["1000", "-5"], [SAME; 2], true, Refused),
        ("reference score is infinite", "Offline", ["inf", "1000"], [SAME; 2], true, Refused),
        ("server with another target latency", "Server", ["996.34", "990.00"], [SAME, OTHER_LATENCY], true, Stricter),
        ("audit.config was not in effect", "Offline", ["1000", "1000"], [SAME, NOT_SAME], true, Refused),
    ];
    rows.iter().map(|row| case(Test::Test04, *row)).collect()
}
