//! `histograms.hlog`: durations of a run's samples, in the log format of HdrHistogram, which its
//! tools read.
//!
//! Each line is a histogram of the whole run. Its tag names the node, by its index in `result.json`
//! from 0, and the measure: `0/latency`.

use std::{
    fmt, io,
    path::Path,
    time::{Duration, SystemTime},
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer, V2DeflateSerializer,
        interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag},
    },
};
use netdiv_node_common::resources::files;
use netdiv_qdl::NodeReport;
use strum::{Display, EnumString, VariantArray};

use crate::output;

/// Name of the file in a run's folder.
pub(crate) const HISTOGRAMS: &str = "histograms.hlog";

/// A measured quantity. All quantities but the last are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Measure {
    /// Time from `IssueQuery` to completion.
    Latency,
    QdlQueue,
    Network,
    SutQueue,
    Compute,
    FirstToken,
    FurtherToken,
    Prefill,
    Decode,
    /// Number of tokens of a response.
    TokensPerAnswer,
}

impl Measure {
    /// Returns the histogram of this measure in a node's report, if the report has one.
    fn histogram_in(self, report: &NodeReport) -> Option<&Histogram<u64>> {
        let tokens = report.tokens.as_deref();
        match self {
            Self::Latency => Some(&report.latency),
            Self::QdlQueue => Some(&report.stages.qdl_queue),
            Self::Network => Some(&report.stages.network),
            Self::SutQueue => Some(&report.stages.sut_queue),
            Self::Compute => Some(&report.stages.compute),
            Self::FirstToken => tokens.map(|tokens| &tokens.first),
            Self::FurtherToken => tokens.map(|tokens| &tokens.further),
            Self::Prefill => tokens.map(|tokens| &tokens.prefill),
            Self::Decode => tokens.map(|tokens| &tokens.decode),
            Self::TokensPerAnswer => tokens.map(|tokens| &tokens.lengths),
        }
    }
}

/// Writes the histograms of a run, node by node.
pub(crate) fn write(
    folder: &Path,
    nodes: &[NodeReport],
    started: SystemTime,
    took: Duration,
) -> io::Result<()> {
    let mut text = Vec::new();
    let failed = |error: &dyn fmt::Debug| io::Error::other(format!("{error:?}"));
    let mut serializer = V2DeflateSerializer::new();
    {
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment("a tag is the node's index in result.json, from 0, and the measure")
            .with_start_time(started)
            .with_base_time(started)
            .with_max_value_divisor(1e6)
            .begin_log_with(&mut text, &mut serializer)?;
        for (place, node) in nodes.iter().enumerate() {
            for measure in Measure::VARIANTS {
                let Some(histogram) = measure.histogram_in(node).filter(|times| !times.is_empty())
                else {
                    continue;
                };
                let tag = format!("{place}/{measure}");
                log.write_histogram(histogram, Duration::ZERO, took, Tag::new(&tag))
                    .map_err(|error| failed(&error))?;
            }
        }
    }
    // Written as a whole or not at all: a truncated file cannot be read.
    output::write(&folder.join(HISTOGRAMS), &text).map_err(|error| failed(&error))
}

/// Histograms of a run, each with the index of its node and its measure.
#[derive(Debug, Default)]
pub(crate) struct Histograms(Vec<(usize, Measure, Histogram<u64>)>);

impl Histograms {
    /// Reads the histograms in a run's folder. Empty if the run has no such file.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(HISTOGRAMS);
        let text = match files::read(&path, u64::MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(|error| format!("{}: {error}", path.display()))?,
        };
        parse(&text)
            .map_err(|why| format!("{}: not a valid log of histograms: {why}", path.display()))
    }

    pub(crate) fn of_node(&self, node: usize, measure: Measure) -> Option<&Histogram<u64>> {
        let found = self.0.iter().find(|(place, what, _)| (*place, *what) == (node, measure));
        found.map(|(.., histogram)| histogram)
    }

    /// Returns the sum of the histograms of all nodes.
    pub(crate) fn of_all(&self, measure: Measure) -> Option<Histogram<u64>> {
        let those = self.0.iter().filter(|(_, what, _)| *what == measure);
        Self::sum(those.map(|(.., histogram)| histogram.clone()))
    }

    /// Adds histograms. Returns `None` if there are no histograms.
    pub(crate) fn sum(all: impl Iterator<Item = Histogram<u64>>) -> Option<Histogram<u64>> {
        all.reduce(|mut sum, histogram| {
            // A histogram that resizes accepts any value, so adding cannot fail.
            sum.auto(true);
            let _ = sum.add(histogram);
            sum
        })
    }
}

fn parse(text: &[u8]) -> Result<Histograms, String> {
    let mut histograms = Vec::new();
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(text) {
        let LogEntry::Interval(line) = entry.map_err(|error| format!("{error:?}"))? else {
            continue;
        };
        let tag = line.tag().map(|tag| tag.as_str()).unwrap_or_default();
        let (place, measure) = tag
            .split_once('/')
            .and_then(|(place, measure)| Some((place.parse().ok()?, measure.parse().ok()?)))
            .ok_or_else(|| format!("unknown tag `{tag}`"))?;
        let bytes = BASE64_STANDARD.decode(line.encoded_histogram()).unwrap_or_default();
        let histogram = deserializer
            .deserialize(&mut bytes.as_slice())
            .map_err(|_| format!("the histogram `{tag}` cannot be decoded"))?;
        histograms.push((place, measure, histogram));
    }
    Ok(Histograms(histograms))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn histograms_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut nodes = ["a", "b"].map(|name| NodeReport::new(name, ""));
        for (place, node) in nodes.iter_mut().enumerate() {
            for value in 1..=5000 {
                node.latency.record(value * 1000 * (place as u64 + 1)).unwrap();
            }
        }
        nodes[1].tokens = Some(Box::default());
        nodes[1].tokens.as_mut().unwrap().lengths.record(17).unwrap();
        write(folder.path(), &nodes, SystemTime::now(), Duration::from_secs(3)).unwrap();
        let read = Histograms::read(folder.path()).unwrap();
        for (place, node) in nodes.iter().enumerate() {
            assert_eq!(read.of_node(place, Measure::Latency), Some(&node.latency));
            assert_eq!(read.of_node(place, Measure::Compute), None);
        }
        assert_eq!(read.of_node(0, Measure::TokensPerAnswer), None);
        assert_eq!(read.of_node(1, Measure::TokensPerAnswer).unwrap().max(), 17);
        let all = read.of_all(Measure::Latency).unwrap();
        assert_eq!((all.len(), all.max()), (10_000, nodes[1].latency.max()));
        let size = fs::metadata(folder.path().join(HISTOGRAMS)).unwrap().len();
        assert!(size < 20_000, "{size}");
    }

    #[test]
    fn what_is_no_log_of_histograms_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Histograms::read(folder.path()).unwrap().of_all(Measure::Latency).is_none());
        let mut node = NodeReport::new("a", "");
        node.latency.record(9).unwrap();
        write(folder.path(), &[node], SystemTime::now(), Duration::from_secs(1)).unwrap();
        let path = folder.path().join(HISTOGRAMS);
        let text = fs::read_to_string(&path).unwrap();
        for (from, to) in
            [("0/latency", "0/size"), ("0/latency", "-1/latency"), ("HIST", "HISU"), ("HIST", "=")]
        {
            assert!(text.contains(from), "{text}");
            fs::write(&path, text.replace(from, to)).unwrap();
            let refused = Histograms::read(folder.path()).unwrap_err();
            assert!(refused.contains("not a valid log of histograms"), "{refused}");
        }
        fs::write(&path, [0xFF; 99]).unwrap();
        Histograms::read(folder.path()).unwrap_err();
    }
}
