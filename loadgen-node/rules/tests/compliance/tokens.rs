//! Tokens of TEST06.

use super::{
    inputs::{hex, log, short_token_log, summary, token_log},
    *,
};

/// Row of a table of cases: name, scenario, accuracy log, true if the official script passes, and
/// our verdict.
type TokensRow = (&'static str, &'static str, String, bool, OurVerdict);

fn case((name, scenario, log, official, ours): TokensRow) -> ComplianceCase {
    ComplianceCase {
        test: Test::Test06,
        name,
        benchmark: "llama2-70b-99",
        dtype: "int32",
        accuracy_log: String::new(),
        reference: String::new(),
        log,
        summary: summary(scenario, "1000"),
        official,
        ours,
    }
}

pub(super) fn cases() -> Vec<ComplianceCase> {
    let text = token_log(&[(&[5, 6, 2], None, 3), (&[7, 8], None, 2)]);
    let first = token_log(&[(&[5, 6, 2], Some(&[5]), 3), (&[7, 8], Some(&[7]), 2)]);
    let llama3 = |name, ids: &[i32], official, ours| ComplianceCase {
        benchmark: "llama3.1-405b",
        ..case((name, "Offline", token_log(&[(ids, None, ids.len() as u64)]), official, ours))
    };
    let mut cases = vec![
        ComplianceCase {
            dtype: "int64",
            ..case((
                "numbers of 64 bits",
                "Offline",
                token_log(&[(&[5, 0, 2, 0, 2, 1], None, 3)]),
                true,
                Pass,
            ))
        },
        ComplianceCase {
            dtype: "float32",
            ..case((
                "two ends as floats",
                "Offline",
                token_log(&[(&[5, 0x4000_0000, 0x4000_0000], None, 3)]),
                false,
                Fail,
            ))
        },
        llama3("llama 3.1 with one end", &[9, 8, 128_009], true, Pass),
        llama3("llama 3.1 with two ends", &[9, 128_009, 128_009], true, Stricter),
        llama3("llama 3.1 with unlike ends", &[9, 128_001, 128_009], true, Stricter),
        llama3("llama 3.1 ends in the token 2 twice", &[9, 2, 2], false, Fail),
        ComplianceCase {
            benchmark: "mixtral-8x7b",
            ..case(("mixtral", "Server", first.clone(), true, Pass))
        },
    ];
    #[rustfmt::skip]
    let rows = [
        ("offline", "Offline", text.clone(), true, Pass),
        ("server", "Server", first.clone(), true, Pass),
        ("single stream", "SingleStream", first.clone(), true, Pass),
        ("offline ignores first tokens", "Offline", token_log(&[(&[5, 6], Some(&[9]), 2)]), true, Pass),
        ("another first token", "Server", token_log(&[(&[5, 6], Some(&[9]), 2)]), false, Fail),
        ("two first tokens", "Server", token_log(&[(&[5, 6], Some(&[5, 6]), 2)]), true, Pass),
        ("two first tokens and the second is wrong", "Server", token_log(&[(&[5, 6], Some(&[5, 7]), 2)]), false, Fail),
        ("first token is missing", "Server", text.clone(), false, Fail),
        ("first token is empty", "Server", token_log(&[(&[5, 6], Some(&[]), 2)]), true, Stricter),
        ("two ends", "Offline", token_log(&[(&[5, 2, 2], None, 3)]), false, Fail),
        ("two ends later on", "Offline", token_log(&[(&[5, 6], None, 2), (&[5, 2, 2], None, 3)]), false, Fail),
        ("two ends and nothing else", "Offline", token_log(&[(&[2, 2], None, 2)]), true, Stricter),
        ("one end and nothing else", "Offline", token_log(&[(&[2], None, 1)]), true, Pass),
        ("ends in the middle", "Offline", token_log(&[(&[5, 2, 2, 6, 2], None, 5)]), true, Pass),
        ("an empty response", "Offline", token_log(&[(&[], None, 0)]), true, Stricter),
        ("an empty response to a first token", "Server", token_log(&[(&[], Some(&[5]), 0)]), true, Stricter),
        ("another number of tokens", "Offline", token_log(&[(&[5, 6], None, 3)]), false, Fail),
        ("99 responses", "Offline", short_token_log([(&[5, 6][..], None, 2); 99].iter()), true, Stricter),
        ("all is wrong", "Server", token_log(&[(&[5, 2, 2], Some(&[6]), 4)]), false, Fail),
        ("no number of tokens", "Offline", log(&[(0, &hex(&[5, 6]))]), false, Refused),
        ("not whole tokens", "Offline", text.replacen("05000000", "050000", 1), false, Refused),
        ("first token is not whole", "Server", first.replace("\"07000000\"", "\"070000\""), false, Refused),
        ("nothing was logged", "Offline", token_log(&[]), true, Refused),
        ("log is truncated", "Offline", text[..text.len() - 20].into(), false, Refused),
        ("log is missing", "Offline", String::new(), false, Refused),
    ];
    cases.extend(rows.into_iter().map(case));
    let summary = summary("Offline", "1000").replace("720381539243781796", "0");
    cases.push(ComplianceCase {
        summary,
        ..case(("audit.config was not in effect", "Offline", text, true, Refused))
    });
    cases
}
