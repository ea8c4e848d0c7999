//! State of network interfaces, from `/sys/class/net` and `ethtool`.

use crate::evidence::{System, interfaces::NET};

/// Offloads, each with the name that `ethtool -k` prints and the name that `ethtool -K` accepts.
const OFFLOADS: [(&str, &str); 3] = [
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
];

/// Offload of work from the processors to an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offload {
    /// Name with which `ethtool -K` switches the offload: `tso`, `gso` or `gro`.
    pub word: &'static str,
    /// True if the offload is on.
    pub is_on: bool,
    /// True if the offload cannot be switched.
    pub is_fixed: bool,
}

/// State of an interface, in addition to its description ([`crate::evidence::Interface`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkState {
    /// Name of the interface.
    pub name: String,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// Number of frames dropped for lack of buffers in the adapter or its driver, since the
    /// interface came up.
    pub missed_frames: Option<u64>,
    /// Offloads; `None` if `ethtool` does not report them.
    pub offloads: Option<Vec<Offload>>,
    /// Current and maximum number of entries of the receive ring.
    pub receive_ring: Option<(u64, u64)>,
}

impl System {
    pub(super) fn links(&self) -> Vec<LinkState> {
        self.interfaces().into_iter().map(|interface| self.link_state(interface.name)).collect()
    }

    fn link_state(&self, name: String) -> LinkState {
        let read = |file: &str| self.read(&format!("{NET}/{name}/{file}"));
        let count = |file: &str| read(&format!("statistics/{file}"))?.parse::<u64>().ok();
        let (missed, overruns) = (count("rx_missed_errors"), count("rx_fifo_errors"));
        let offloads = self.run_program("ethtool", &["-k", &name]).map(|text| offloads(&text));
        let rings = self.run_program("ethtool", &["-g", &name]);
        LinkState {
            duplex: read("duplex").filter(|word| word == "full" || word == "half"),
            // Some drivers count in one of the counters, others in both.
            missed_frames: missed.into_iter().chain(overruns).max(),
            offloads: offloads.filter(|offloads| !offloads.is_empty()),
            receive_ring: rings.and_then(|text| receive_ring(&text)),
            name,
        }
    }
}

/// Parses the output of `ethtool -k`: `tcp-segmentation-offload: on`, or `off [fixed]`.
fn offloads(text: &str) -> Vec<Offload> {
    let offload = |line: &str| {
        let (name, state) = line.split_once(':')?;
        let (_, word) = *OFFLOADS.iter().find(|(known, _)| *known == name.trim())?;
        let mut state = state.split_whitespace();
        let is_on = match state.next()? {
            "on" => true,
            "off" => false,
            _ => return None,
        };
        Some(Offload { word, is_on, is_fixed: state.next() == Some("[fixed]") })
    };
    text.lines().filter_map(offload).collect()
}

/// Parses the output of `ethtool -g`: first the maximums, then the current values.
fn receive_ring(text: &str) -> Option<(u64, u64)> {
    let (most, now) = text.split_once("Current hardware settings")?;
    let entries = |part: &str| {
        let line = part.lines().find_map(|line| line.strip_prefix("RX:"))?;
        line.trim().parse::<u64>().ok()
    };
    Some((entries(now)?, entries(most)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ethtool_prints_is_read() {
        let text = "Features for eth0:\nrx-checksumming: on\ntcp-segmentation-offload: off\n\
                    \ttx-tcp-segmentation: off [fixed]\ngeneric-segmentation-offload: on\n\
                    generic-receive-offload: off [fixed]\nlarge-receive-offload: perhaps\n";
        let read: Vec<_> =
            offloads(text).into_iter().map(|o| (o.word, o.is_on, o.is_fixed)).collect();
        assert_eq!(read, [("tso", false, false), ("gso", true, false), ("gro", false, true)]);
        let rings = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nTX:\t\t4096\n\
                     Current hardware settings:\nRX:\t\t512\nTX:\t\t512\n";
        assert_eq!(receive_ring(rings), Some((512, 4096)));
        for text in ["", "RX: 1", "Pre-set maximums:\nRX:\tn/a\nCurrent hardware settings:\nRX: 2"]
        {
            assert_eq!(receive_ring(text), None, "{text}");
        }
    }
}
