//! Progress of a run, in a separate thread off the path of samples: a view of the run on a terminal
//! that can draw it, lines in the log elsewhere.

#[cfg(feature = "live")]
mod drawing;
#[cfg(feature = "live")]
mod latency_bars;
#[cfg(feature = "live")]
mod live;
mod log_lines;
pub(crate) mod metrics;
pub(crate) mod recorder;

#[cfg(not(feature = "live"))]
use std::io;
use std::{sync::mpsc, thread};

use netdiv_node_common::process::show_below_log;
use netdiv_qdl::Progress;
use tracing::{debug, warn};

#[cfg(feature = "live")]
use self::live::show;
use self::log_lines::{LOGGED, log, log_line};
use crate::{
    live_line,
    run::{progress::recorder::Latest, setup::loadgen_test::LoadGenTest},
};

/// Shows the progress of a run while `work` runs, unless the run is quiet. Returns the result of
/// `work`.
pub(crate) fn while_running<T>(
    test: &LoadGenTest,
    glance: impl Fn() -> Progress + Sync,
    latest: &Latest,
    work: impl FnOnce() -> T,
) -> T {
    let LoadGenTest { config, expected, bounds, .. } = test;
    if config.quiet {
        return work();
    }
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let glance = &glance;
        let showing = move || {
            if live_line::is_terminal() {
                match show(config, *bounds, glance, latest, expected, &ended) {
                    Ok(()) => return,
                    Err(why) => debug!("no live view: {why}"),
                }
            }
            log(glance, &ended, expected, LOGGED, log_line);
        };
        let progress = thread::Builder::new().name("progress".into());
        if let Err(error) = progress.spawn_scoped(scope, showing) {
            warn!("the run goes on without showing its progress: {error}");
        }
        let result = work();
        drop(done);
        result
    })
}

#[cfg(not(feature = "live"))]
fn show(
    _: &crate::RunConfig,
    _: crate::run::setup::latency_bounds::LatencyBounds,
    _: &impl Fn() -> Progress,
    _: &Latest,
    _: &crate::run::setup::length_estimate::LengthEstimate,
    _: &mpsc::Receiver<()>,
) -> io::Result<()> {
    Err(io::Error::other("this program has none"))
}

/// Restores the terminal before the process ends in another way than by returning.
pub(crate) fn restore() {
    #[cfg(feature = "live")]
    live::restore();
    show_below_log("");
}
