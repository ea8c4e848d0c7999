//! `user.conf`: LoadGen's own settings. LoadGen wants a comment on a line of its own, with a space behind its `#`.

use netdiv_words::TODO;

use super::{known::Template, text::Text};
use crate::Scenario;

pub(super) fn text(template: &Template<'_>) -> String {
    let Template { benchmark, round, .. } = template;
    let mut text = Text::default();
    text.comment(&format!(
        "LoadGen's user.conf for {}, round {}. The rates are yours to set; the rest is what the rules ask, and LoadGen has the same \
         in its own configuration. In brackets is where a figure comes from.",
        benchmark.name, round.name
    ));
    for scenario in &benchmark.scenarios {
        text.line("");
        rate(template, *scenario, &mut text);
        let model = format!("{}.{}", benchmark.loadgen_model, scenario.official_name());
        text.comment("Minimum duration of a performance run, in ms [3]. Leave it.")
            .line(&format!("{model}.min_duration = {}", round.min_duration_ms));
        if *scenario == Scenario::Offline {
            let source = template.source("offline_samples");
            text.comment(&format!("Minimum number of samples in the query{source}. Leave it."))
                .line(&format!("{model}.min_query_count = {}", benchmark.offline_samples));
        }
    }
    text.finish()
}

fn rate(template: &Template<'_>, scenario: Scenario, text: &mut Text) {
    let benchmark = template.benchmark;
    let what = match scenario {
        Scenario::Offline => {
            "Samples per second that all nodes together reach. LoadGen issues a tenth more than the minimum duration takes at this \
             rate; where the nodes are faster, the run is too short, and LoadGen says to increase it."
        }
        Scenario::Server | Scenario::SingleStream | Scenario::MultiStream => {
            "Queries per second that LoadGen issues, the result of a valid run. Raise it until the latencies are no longer kept; \
             --mode find-peak searches the highest rate."
        }
    };
    let (rate, origin) = match template.rate {
        Some(rate) => (rate.to_string(), " The figure comes from loadgen-node init --rate."),
        None => (TODO.to_owned(), ""),
    };
    text.comment(&format!("{what}{origin}"));
    if let Some(bounds) = bounds(template, scenario) {
        text.comment(&bounds);
    }
    let model = &benchmark.loadgen_model;
    text.line(&format!("{model}.{}.target_qps = {rate}", scenario.official_name()));
}

/// The latencies that 99 % of Server's queries keep.
fn bounds(template: &Template<'_>, scenario: Scenario) -> Option<String> {
    let benchmark = template.benchmark;
    if scenario != Scenario::Server {
        return None;
    }
    Some(match (benchmark.server_latency_ms, benchmark.ttft_ms, benchmark.tpot_ms) {
        (Some(ms), ..) => {
            format!(
                "99 % of queries are answered within {ms} ms{}.",
                template.source("server_latency_ms")
            )
        }
        (None, Some(first), Some(further)) => format!(
            "99 % of queries have their first token within {first} ms and each further one within {further} ms{}.",
            template.source("ttft_ms")
        ),
        _ => return None,
    })
}
