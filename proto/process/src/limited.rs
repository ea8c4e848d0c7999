//! Log lines, limited in rate: whoever can make a process log, be it a peer or a library, cannot fill the disk with it.
//!
//! Each place in the code that logs has a limit of its own, so that a flood of one line hides no other line.

use std::{
    collections::HashMap,
    fmt,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::{Event, Level, Subscriber, callsite::Identifier};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Lines a second of one place in the code; further ones are counted, and the next line gives their number.
const LINES: u32 = 16;
const SECOND: Duration = Duration::from_secs(1);

/// Formats events as `inner` does, up to the limit. Levels that nobody sees without asking have none.
#[derive(Debug, Default)]
pub(crate) struct Limited<F> {
    inner: F,
    places: Mutex<HashMap<Identifier, Lately>>,
}

/// What one place has logged lately.
#[derive(Debug, Default)]
struct Lately {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Lately {
    /// How many lines were left out before this one; `None` if this one is left out too.
    fn line(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= SECOND) {
            (self.since, self.lines) = (Some(now), 0);
        }
        if self.lines == LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

impl<F> Limited<F> {
    pub(crate) fn new(inner: F) -> Self {
        Self { inner, places: Mutex::default() }
    }
}

impl<S, N, F> FormatEvent<S, N> for Limited<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let place = event.metadata();
        if *place.level() <= Level::INFO {
            match self.places.lock().entry(place.callsite()).or_default().line(Instant::now()) {
                None => return Ok(()),
                Some(0) => {}
                Some(count) => writeln!(writer, "{count} lines like the next one were left out")?,
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
    fn a_flood_is_counted_and_not_logged() {
        let (mut lately, start) = (Lately::default(), Instant::now());
        assert!((0..LINES).all(|_| lately.line(start) == Some(0)));
        assert!((0..1000).all(|_| lately.line(start).is_none()));
        assert_eq!(lately.line(start + SECOND), Some(1000));
        assert_eq!(lately.line(start + SECOND), Some(0));
    }

    /// What was logged.
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

    /// The lines that this logs.
    fn logged(log: impl Fn()) -> Vec<String> {
        let written = Log::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::DEBUG)
            .with_ansi(false)
            .event_format(Limited::new(format::Format::default()))
            .with_writer(written.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, log);
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        text.lines().map(String::from).collect()
    }

    #[test]
    fn one_place_writes_so_many_lines_and_hides_no_other() {
        let lines = logged(|| {
            // As a library does that cannot take a connection.
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
    fn the_next_line_says_how_many_were_left_out() {
        let lines = logged(|| {
            for round in 0..2 {
                (0..LINES + 3).for_each(|n| warn!(round, n, "flood"));
                std::thread::sleep(SECOND);
            }
        });
        let said = lines.iter().position(|line| line == "3 lines like the next one were left out");
        let next = lines.get(said.expect("it is said") + 1).expect("a line follows");
        assert!(next.contains("round=1") && next.contains("n=0"), "{lines:#?}");
    }

    #[test]
    fn who_asks_for_debug_gets_all_of_it() {
        let lines = logged(|| (0..10 * LINES).for_each(|n| debug!(n, "detail")));
        assert_eq!(lines.len(), 10 * LINES as usize);
    }
}
