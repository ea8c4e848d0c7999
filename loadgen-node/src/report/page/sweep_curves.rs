//! Curves of a sweep.

use maud::Markup;

use super::{
    axis::{Axis, Scale, plain},
    elements::{figures, picture},
    phrases::sentence,
    plot::{Along, Bound, Mark, Plot, PlotLine},
};
use crate::{
    record::Distribution,
    recording::sweep::{Step, SweepRecord},
    units::count,
};

/// A sweep, and what its page shows of each step.
pub(super) struct ShownSweep<'a> {
    pub(super) record: &'a SweepRecord,
    pub(super) latencies: Vec<ShownLatency>,
    pub(super) quantities: &'static [Quantity],
    /// Remark on the source of the latencies, as a sentence.
    pub(super) remark: String,
    /// Returns the address of a step's page or record.
    pub(super) link: &'a dyn Fn(&Step) -> String,
}

/// Latency that a sweep shows.
pub(super) struct ShownLatency {
    pub(super) name: &'static str,
    pub(super) of: fn(&Step) -> Option<&Distribution>,
    pub(super) bound_ns: Option<f64>,
}

impl ShownLatency {
    pub(super) fn p99_ms(&self, step: &Step) -> Option<f64> {
        (self.of)(step).map(|times| times.p99 as f64 / 1e6).filter(|ms| *ms > 0.0)
    }
}

/// Rate of a step.
pub(super) type Quantity = (&'static str, fn(&Step) -> Option<f64>);

/// Rates of steps. Only those of language models have tokens.
const QUANTITIES: [Quantity; 3] = [
    ("samples/s", |step| Some(step.samples_per_second)),
    ("tokens/s", |step| step.tokens_per_second),
    ("tokens/s per user", |step| step.tokens_per_second_per_user),
];

impl<'a> ShownSweep<'a> {
    /// Chooses the latencies that decide: those with bounds for language models, or the whole
    /// latency.
    pub(super) fn new(record: &'a SweepRecord, link: &'a dyn Fn(&Step) -> String) -> Self {
        let has_token_times = record.steps.iter().any(|step| step.first_token_ns.is_some());
        let latencies = match has_token_times {
            true => vec![
                ShownLatency {
                    name: "TTFT",
                    of: |step| step.first_token_ns.as_ref(),
                    bound_ns: record.bounds.first_token_ns,
                },
                ShownLatency {
                    name: "TPOT",
                    of: |step| step.further_token_ns.as_ref(),
                    bound_ns: record.bounds.further_token_ns,
                },
            ],
            false => vec![ShownLatency {
                name: "Latency",
                of: |step| Some(&step.latency_ns),
                bound_ns: record.bounds.latency_ns,
            }],
        };
        let quantities = if record.has_tokens() { &QUANTITIES[..] } else { &QUANTITIES[..1] };
        Self { record, latencies, quantities, remark: sentence(record.load.remark()), link }
    }

    pub(super) fn curve(&self, latency: &ShownLatency, (quantity, x): Quantity) -> Markup {
        let title = format!("{} p99 against {quantity}", latency.name);
        let lines = self.lines(|step| {
            let (x, y) = (x(step)?, latency.p99_ms(step)?);
            let text = format!("{} {quantity}, {} p99 {} ms", figures(x), latency.name, figures(y));
            Some(((x, y), text))
        });
        let bound = latency.bound_ns.map(|ns| Bound {
            along: Along::Y,
            at: ns / 1e6,
            until: None,
            label: format!("bound for p99: {} ms", plain(ns / 1e6)),
        });
        let (x, y) = (Axis::new(quantity, Scale::Linear), Axis::new("ms", Scale::Log));
        let plot = Plot { title: &title, x, y, lines, bound, strips: Vec::new() };
        picture(&plot, &[&self.remark])
    }

    pub(super) fn share(&self, title: &str, share: fn(&Step) -> f64) -> Markup {
        let lines = self.lines(|step| {
            let percent = 100.0 * share(step);
            Some(((step.load, percent), format!("{} %", figures(percent))))
        });
        let x = Axis::new(self.record.load.unit(), Scale::Linear);
        let y = Axis::new("%", Scale::Linear);
        let plot = Plot { title, x, y, lines, bound: None, strips: Vec::new() };
        picture(&plot, &[&self.remark])
    }

    /// Returns a line for each set of nodes; `point` returns a step's point and its text.
    fn lines(&self, point: impl Fn(&Step) -> Option<((f64, f64), String)>) -> Vec<PlotLine> {
        let Self { record, link, .. } = self;
        let line = |nodes: &usize| {
            let of = count(*nodes, "node");
            let steps = record.steps.iter().filter(|step| step.nodes == *nodes);
            let points = steps.filter_map(|step| {
                let (at, text) = point(step)?;
                let heading =
                    format!("{of}, {} {}: {}", plain(step.load), record.load.unit(), step.verdict);
                let mark = Mark {
                    text: format!("{heading}\n{text}\n{}", why(step)),
                    is_hollow: !step.has_passed(),
                    is_square: step.client_limit.is_some(),
                    link: Some(link(step)),
                };
                Some((at, mark))
            });
            let (points, marks) = points.unzip();
            PlotLine { name: of, points, marks, is_total: false }
        };
        record.node_sets.iter().map(line).collect()
    }
}

/// Returns the reasons of a step's verdict, and of the client's limit.
pub(super) fn why(step: &Step) -> String {
    let limit = step.client_limit.iter().map(|why| format!("client's limit: {why}"));
    step.reasons.iter().cloned().chain(limit).collect::<Vec<_>>().join("; ")
}
