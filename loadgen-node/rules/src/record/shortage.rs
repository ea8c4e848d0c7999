//! Programs that were ready to run and had no processor.

use std::{fmt, time::Duration};

use netdiv_node_common::resources::processor::ProcessorTimes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minimum share of a measurement that a program has to lack a processor, to be short of it.
const NOTICEABLE: f64 = 0.01;

/// Minimum share of the time in which threads could run that they have to wait for a processor.
/// Below it, threads wait for each other on machines that are not busy.
const LONG_WAIT: f64 = 0.1;

/// Minimum share of a measurement by which a sleeping thread has to wake up late, to show that the
/// program was stopped.
const OFTEN_LATE: f64 = 0.1;

/// Beginning of the name of the LoadGen node's program.
const LOADGEN_NODE: &str = "LoadGen node on ";

/// Lack of processor time of one program during a test. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shortage {
    /// Program, with its machine: `LoadGen node on HOST`, `node NAME`, or `this machine`.
    pub program: String,
    /// Length of the test.
    pub test_seconds: f64,
    /// Time for which the quotas of its control groups stopped the program, over all processors.
    pub throttled_seconds: f64,
    /// Time for which the hypervisor gave the machine's processors to others: the mean of all.
    pub stolen_seconds: f64,
    /// Time for which the program's threads waited for a processor, over all threads.
    pub waited_seconds: f64,
    /// Time for which its threads ran.
    pub ran_seconds: f64,
    /// Time by which a sleeping thread of it woke up late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_seconds: Option<f64>,
}

impl Shortage {
    /// Returns the shortage of a program that used `spent` during a test of length `took`, or `None`
    /// if it had all the time it could use.
    pub fn of(program: String, spent: &ProcessorTimes, took: Duration) -> Option<Self> {
        let shortage = Self {
            program,
            test_seconds: took.as_secs_f64(),
            throttled_seconds: spent.throttled.as_secs_f64(),
            stolen_seconds: spent.stolen.as_secs_f64(),
            waited_seconds: spent.waited.as_secs_f64(),
            ran_seconds: spent.ran.as_secs_f64(),
            late_seconds: Some(spent.late.as_secs_f64()).filter(|late| *late > 0.0),
        };
        (!shortage.causes().is_empty()).then_some(shortage)
    }

    /// Returns the name of the LoadGen node's program on a machine, as records have it.
    pub fn loadgen_node(host: &str) -> String {
        format!("{LOADGEN_NODE}{host}")
    }

    /// Returns true if the LoadGen node was short of processor time.
    pub fn is_of_loadgen_node(&self) -> bool {
        self.program.starts_with(LOADGEN_NODE)
    }

    /// Returns the time without a processor relative to the test's length. It may exceed 1, because
    /// a program has several threads.
    pub fn lacked_share(&self) -> f64 {
        let lacked = self.throttled_seconds.max(self.stolen_seconds).max(self.waited_seconds);
        let lacked = lacked.max(self.late_seconds.unwrap_or_default());
        lacked / self.test_seconds
    }

    /// Lists the causes in words.
    fn causes(&self) -> Vec<String> {
        let noticeable = |seconds: &f64| *seconds > NOTICEABLE * self.test_seconds;
        let throttled = Some(self.throttled_seconds).filter(noticeable);
        let stolen = Some(self.stolen_seconds).filter(noticeable);
        let could_run = self.waited_seconds + self.ran_seconds;
        let waited = Some(self.waited_seconds).filter(noticeable);
        // A quota also makes threads wait.
        let waited = waited.filter(|wait| throttled.is_none() && *wait > LONG_WAIT * could_run);
        let late = self
            .late_seconds
            .filter(|late| throttled.is_none() && *late > OFTEN_LATE * self.test_seconds);
        let texts = [
            throttled.map(|seconds| format!("its processor quota stopped it for {seconds:.1} s")),
            stolen.map(|seconds| {
                format!("the hypervisor gave {seconds:.1} s of each processor to others")
            }),
            waited.map(|wait| {
                let share = 100.0 * wait / could_run;
                format!("its threads waited for a processor for {share:.0} % of their time")
            }),
            late.map(|late| {
                format!("it was stopped again and again: a sleeping thread woke up {late:.1} s late in all")
            }),
        ];
        texts.into_iter().flatten().collect()
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} (test: {:.1} s)",
            self.program,
            self.causes().join("; "),
            self.test_seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_noticeable_lack_is_a_shortage() {
        let second = Duration::from_secs;
        let of_late = |ran, waited, throttled, stolen, late| {
            let spent = ProcessorTimes {
                ran: second(ran),
                waited: second(waited),
                throttled: second(throttled),
                stolen: second(stolen),
                late: second(late),
            };
            Shortage::of("node a".into(), &spent, second(100)).map(|short| short.to_string())
        };
        let of = |ran, waited, throttled, stolen| of_late(ran, waited, throttled, stolen, 0);
        assert_eq!(of(100, 10, 1, 1), None);
        assert_eq!(of_late(100, 0, 0, 0, 10), None);
        // A program that hardly runs may wait for most of its time.
        assert_eq!(of(0, 1, 0, 0), None);
        for (short, words) in [
            (of(4, 50, 46, 0), "node a: its processor quota stopped it for 46.0 s (test: 100.0 s)"),
            (of(50, 0, 0, 2), "node a: the hypervisor gave 2.0 s of each"),
            (of(75, 25, 0, 0), "node a: its threads waited for a processor for 25 % of their"),
            (of(10, 90, 2, 3), "stopped it for 2.0 s; the hypervisor"),
            (
                of_late(9, 0, 0, 0, 70),
                "node a: it was stopped again and again: a sleeping thread woke up 70.0 s late in all (t",
            ),
            (
                of_late(4, 50, 46, 0, 70),
                "node a: its processor quota stopped it for 46.0 s (test: 100.0 s)",
            ),
        ] {
            assert!(short.as_ref().is_some_and(|text| text.contains(words)), "{short:?}");
        }
    }
}
