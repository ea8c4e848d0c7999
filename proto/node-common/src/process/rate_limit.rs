//! Rate limit of log lines, so that neither a peer nor a library can fill the disk by making a
//! process log.
//!
//! Each call site has its own limit, so that a flood of one line hides no other line.

use std::{
    collections::HashMap,
    fmt, mem,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::{Event, Level, Metadata, Subscriber, callsite::Identifier, error, warn};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Maximum number of lines per second from one call site. Further lines are suppressed and counted.
const LINES: u32 = 16;
const SECOND: Duration = Duration::from_secs(1);

/// Interval between reports of suppressed lines.
const REPORT_INTERVAL: Duration = Duration::from_secs(3);

/// Formatter that wraps `inner` and limits its rate, if a limit is set. Levels below INFO are not
/// limited.
#[derive(Debug, Default)]
pub(crate) struct RateLimitedFormat<F> {
    inner: F,
    places: Option<CallSites>,
}

/// Call sites that have logged. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallSites(Arc<Mutex<HashMap<Identifier, CallSite>>>);

/// Call site, and its lines.
type CallSite = (&'static Metadata<'static>, RateWindow);

/// Number of lines that a call site has written in the current second, and of suppressed lines that
/// have not been reported.
#[derive(Debug, Default)]
struct RateWindow {
    since: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl RateWindow {
    /// Returns true if a line may be written now, and counts it.
    fn has_room(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= SECOND) {
            (self.since, self.lines) = (Some(now), 0);
        }
        let has_room = self.lines < LINES;
        self.lines += u32::from(has_room);
        self.suppressed += u64::from(!has_room);
        has_room
    }
}

impl CallSites {
    /// Reports suppressed lines every few seconds until the process ends.
    pub(crate) fn start_reporting(&self) {
        let places = self.clone();
        let counting = thread::Builder::new().name("log".into()).spawn(move || {
            loop {
                thread::sleep(REPORT_INTERVAL);
                places.report_suppressed();
            }
        });
        if let Err(error) = counting {
            warn!(%error, "suppressed log lines will not be reported");
        }
    }

    /// Reports the lines that were suppressed since the last report.
    pub(crate) fn report_suppressed(&self) {
        let take = |(place, lately): &mut CallSite| (*place, mem::take(&mut lately.suppressed));
        let suppressed: Vec<_> = self.0.lock().values_mut().map(take).collect();
        for (place, count) in suppressed.into_iter().filter(|(_, count)| *count > 0) {
            let (level, place) = (*place.level(), place.name());
            // A log of errors alone contains the report if an error was suppressed.
            if level == Level::ERROR {
                error!(count, place, "log lines were suppressed");
            } else {
                warn!(count, place, "log lines were suppressed");
            }
        }
    }
}

impl<F> RateLimitedFormat<F> {
    /// Creates a formatter. It limits nothing if `places` is `None`.
    pub(crate) fn new(inner: F, places: Option<CallSites>) -> Self {
        Self { inner, places }
    }
}

impl<S, N, F> FormatEvent<S, N> for RateLimitedFormat<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let place = event.metadata();
        if let Some(places) = &self.places
            && *place.level() <= Level::INFO
        {
            let mut places = places.0.lock();
            let (_, lately) =
                places.entry(place.callsite()).or_insert_with(|| (place, RateWindow::default()));
            if !lately.has_room(Instant::now()) {
                return Ok(());
            }
        }
        self.inner.format_event(context, writer, event)
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use tracing::{debug, error, info, warn};
    use tracing_subscriber::fmt::{MakeWriter, format};

    use super::*;

    #[test]
    fn a_second_has_room_for_so_many_lines() {
        let (mut lately, start) = (RateWindow::default(), Instant::now());
        assert!((0..LINES).all(|_| lately.has_room(start)));
        assert!((0..1000).all(|_| !lately.has_room(start)) && lately.suppressed == 1000);
        assert!((0..LINES).all(|_| lately.has_room(start + SECOND)));
        assert!(!lately.has_room(start + SECOND));
    }

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Log {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    /// Returns the lines that `log` writes.
    fn logged(log: impl Fn(&CallSites)) -> Vec<String> {
        let written = Log::default();
        let places = CallSites::default();
        let limited = RateLimitedFormat::new(format::Format::default(), Some(places.clone()));
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::DEBUG)
            .with_ansi(false)
            .event_format(limited)
            .with_writer(written.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || log(&places));
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        text.lines().map(String::from).collect()
    }

    #[test]
    fn one_place_writes_so_many_lines_and_hides_no_other() {
        let lines = logged(|_| {
            // Similar to a library that cannot accept a connection.
            (0..100_000).for_each(|n| warn!(n, "flood"));
            error!("another");
            info!("a third");
        });
        let flood: Vec<_> = lines.iter().filter(|line| line.contains("flood")).collect();
        // The flood itself may take a few seconds on a busy machine.
        assert!(flood.len() >= LINES as usize && flood.len() < 50 * LINES as usize, "{lines:#?}");
        assert!(flood[0].contains("WARN") && flood[0].contains("n=0"), "{}", flood[0]);
        assert!(lines.iter().any(|line| line.contains("ERROR") && line.contains("another")));
        assert!(lines.iter().any(|line| line.contains("INFO") && line.contains("a third")));
    }

    #[test]
    fn how_many_were_left_out_is_said_without_a_further_line() {
        let lines = logged(|places| {
            (0..LINES + 3).for_each(|n| warn!(n, "flood"));
            (0..LINES + 1).for_each(|n| error!(n, "worse"));
            (0..2).for_each(|_| places.report_suppressed());
        });
        let mut said: Vec<_> = lines.iter().filter(|line| line.contains("suppressed")).collect();
        said.sort();
        assert_eq!(said.len(), 2, "{lines:#?}");
        let has =
            |words: &[&str]| said.iter().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(has(&["WARN", "count=3", "rate_limit.rs:"]), "{said:#?}");
        assert!(has(&["ERROR", "count=1", "rate_limit.rs:"]), "{said:#?}");
    }

    #[test]
    fn who_asks_for_debug_gets_all_of_it() {
        let lines = logged(|_| (0..10 * LINES).for_each(|n| debug!(n, "detail")));
        assert_eq!(lines.len(), 10 * LINES as usize);
    }
}
