//! LoadGen's latency bounds, and the node that cost a bound or the end of a test.

use netdiv_rules::{Mode, Scenario};

use crate::{
    record::{Node, RunResult},
    recording::histograms::Measure,
};

/// Label of facts that name a node.
pub(super) const SLOW_NODE: &str = "slow node";

/// Minimum ratio of the part of a slow node's samples that is late to that of the others, beyond
/// [`BY_CHANCE`] samples.
const CLEARLY: f64 = 1.5;

/// Number of late samples by which nodes of one speed may differ.
const BY_CHANCE: f64 = 5.0;

/// Maximum share of an Offline test in which a single node may answer without notice.
const SHORT: f64 = 0.03;

/// Returns LoadGen's bound for a measure: milliseconds, and the share of the samples that have to
/// meet it.
pub(super) fn bound(result: &RunResult, measure: Measure) -> Option<(f64, f64)> {
    if result.scenario != Scenario::Server || result.mode == Mode::Accuracy {
        return None;
    }
    let setting = |name| result.test_settings.get(name)?.parse::<f64>().ok();
    let has_tokens = result.nodes.iter().any(|node| node.tokens.is_some());
    let (ns, percentile) = match measure {
        // LoadGen checks the 99th percentile of times of tokens.
        Measure::FirstToken => (setting("server_ttft_latency")?, 0.99),
        Measure::FurtherToken => (setting("server_tpot_latency")?, 0.99),
        _ if has_tokens => return None,
        _ => (setting("server_target_latency_ns")?, setting("server_target_latency_percentile")?),
    };
    (ns > 0.0 && ns.is_finite() && (0.0..1.0).contains(&percentile))
        .then_some((ns / 1e6, percentile))
}

/// Returns the facts about late samples of Server, and about the last samples of Offline.
pub(super) fn facts(result: &RunResult) -> impl Iterator<Item = (&'static str, String)> {
    let bound = bound(result, Measure::Latency);
    let bound =
        bound.map_or("a bound for tokens".into(), |(ms, _)| format!("the bound of {ms} ms"));
    let is_offline = result.scenario == Scenario::Offline;
    let last = last_samples(&result.nodes, result.test_seconds).filter(|_| is_offline);
    late_samples(&result.nodes, &bound).into_iter().chain(last)
}

/// Names the node that answers clearly more of its samples later than `bound` than the others do of
/// theirs. The samples of a lost node waited there before others answered them, and name no node.
fn late_samples(nodes: &[Node], bound: &str) -> Option<(&'static str, String)> {
    let late = |node: &Node| node.late.unwrap_or_default() as f64;
    let all_late: f64 = nodes.iter().map(late).sum();
    let answered: f64 = nodes.iter().map(|node| node.answered as f64).sum();
    let share = |node: &Node| node.answered as f64 / answered;
    let is_slow = |node: &&Node| {
        let (all_late, answered) = (all_late - late(node), answered - node.answered as f64);
        answered > 0.0
            && late(node) > CLEARLY * all_late / answered * node.answered as f64 + BY_CHANCE
    };
    let slowest = nodes.iter().filter(is_slow).max_by(|a, b| late(a).total_cmp(&late(b)));
    let even = || format!("no node answered clearly more of those later than {bound} than of all");
    let named = |node: &Node| {
        let [part, all] = [late(node) / all_late, share(node)].map(|share| 100.0 * share);
        let name = &node.name;
        format!("{name} answered {part:.0} % of the samples later than {bound}, {all:.0} % of all")
    };
    let fact = slowest.map_or_else(|| ("late samples", even()), |node| (SLOW_NODE, named(node)));
    let is_whole = nodes.iter().all(|node| node.lost.is_none());
    (nodes.len() > 1 && all_late > 0.0 && is_whole).then_some(fact)
}

/// Names the node that answered alone at the end of a test of `seconds`, if that took long.
fn last_samples(nodes: &[Node], seconds: f64) -> Option<(&'static str, String)> {
    let kept = nodes.iter().filter(|node| node.lost.is_none());
    let mut idle: Vec<_> =
        kept.filter_map(|node| Some((node.idle_at_end_seconds?, &node.name))).collect();
    idle.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [(_, name), (alone, _), ..] = idle[..] else { return None };
    let percent = 100.0 * alone / seconds;
    let text =
        format!("{name} answered alone for the last {alone:.2} s, {percent:.0} % of the test");
    (alone > SHORT * seconds).then_some((SLOW_NODE, text))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netdiv_qdl::{NodeInfo, NodeReport};

    use super::*;

    fn node(name: &str) -> Node {
        let info = NodeInfo {
            address: String::new(),
            description: Default::default(),
            round_trip: Duration::ZERO,
        };
        Node { name: name.into(), ..crate::node_record(&info, &NodeReport::new("", ""), false) }
    }

    #[test]
    fn a_node_with_clearly_more_of_the_late_samples_than_of_all_is_named() {
        let even = "late samples: no node answered clearly more of those later than the bound of 15 ms than of all";
        let named = |percents: &str| format!("slow node: b answered {percents} of all");
        for (nodes, want) in [
            (
                &[(500, 9), (500, 91)][..],
                Some(named("91 % of the samples later than the bound of 15 ms, 50 %")),
            ),
            (
                &[(900, 20), (100, 80)],
                Some(named("80 % of the samples later than the bound of 15 ms, 10 %")),
            ),
            (
                &[(900, 0), (100, 100)],
                Some(named("100 % of the samples later than the bound of 15 ms, 10 %")),
            ),
            (&[(500, 40), (500, 60)], Some(even.into())),
            (
                &[(100, 0), (900, 45)],
                Some(named("100 % of the samples later than the bound of 15 ms, 90 %")),
            ),
            (&[(0, 0), (900, 45)], Some(even.into())),
            // Most samples are late at the node that has most samples.
            (&[(100, 10), (900, 90)], Some(even.into())),
            // A few are chance.
            (&[(500, 0), (500, 5)], Some(even.into())),
            (&[(500, 0), (500, 0)], None),
            (&[(500, 50)], None),
        ] {
            let node =
                |(&(answered, late), name)| Node { answered, late: Some(late), ..node(name) };
            let nodes: Vec<_> = nodes.iter().zip(["a", "b"]).map(node).collect();
            let said = late_samples(&nodes, "the bound of 15 ms");
            assert_eq!(said.map(|(label, text)| format!("{label}: {text}")), want);
        }
        assert_eq!(late_samples(&[node("a"), node("b")], ""), None);
    }

    #[test]
    fn a_node_that_answers_alone_for_long_is_named() {
        for (idle, lost, want) in [
            (
                &[Some(4.2), Some(0.0), Some(9.0)][..],
                false,
                Some("b answered alone for the last 4.20 s, 7 % of the test"),
            ),
            (
                &[Some(0.0), Some(30.0)],
                false,
                Some("a answered alone for the last 30.00 s, 50 % of the test"),
            ),
            (&[Some(0.0), Some(30.0)], true, None),
            (&[Some(1.7), Some(0.0)], false, None),
            (&[Some(0.0), None], false, None),
            (&[Some(0.0)], false, None),
        ] {
            let node = |(idle, name): (&Option<f64>, &str)| Node {
                idle_at_end_seconds: *idle,
                lost: (lost && name == "b").then(|| "it is gone".into()),
                ..node(name)
            };
            let nodes: Vec<_> = idle.iter().zip(["a", "b", "c"]).map(node).collect();
            let said = last_samples(&nodes, 60.0).map(|(_, text)| text);
            assert_eq!(said.as_deref(), want);
        }
    }
}
