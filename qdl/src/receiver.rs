//! Receiving half of a stream: opens the stream, reads the replies, and detects the end and overdue
//! responses.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_contract::{
    SessionHeader,
    burst::{self, BurstOutcome, Messages},
    framing::Decoder,
};
use netdiv_transport::{Connection, Http2Close, Replies};
use tokio::{
    sync::watch,
    time::{Interval, MissedTickBehavior, interval, sleep},
};

use crate::{
    calls::{error_text, is_gone},
    failure::Failure,
    lane::Lane,
    loadgen::LoadGen,
    node::PAUSE,
    replies::{Answers, handle},
    run::Stop,
    sender::RequestStream,
    settings::NetworkSettings,
};

/// Reason why a stream ended before the run.
pub(crate) struct StreamEnd {
    pub(crate) failure: Failure,
    /// Set if only a part of a reply had arrived when the stream ended.
    pub(crate) mid_answer: bool,
}

impl From<Failure> for StreamEnd {
    fn from(failure: Failure) -> Self {
        Self { failure, mid_answer: false }
    }
}

/// Serves the stream of a lane until the run stops. Fails if the stream ends before.
pub(crate) async fn serve<L: LoadGen>(
    lane: Arc<Lane<L>>,
    connection: Connection,
    session: SessionHeader,
    limits: NetworkSettings,
) -> Result<(), StreamEnd> {
    let lost = |status: tonic::Status| lost(&lane.node_name, &status);
    let mut stop = lane.run.stop.subscribe();
    let mut clock = Deadlines::new(&limits);

    // A node may send its response headers only with the first reply, so samples are sent before
    // that.
    let mut opening = pin!(open(&lane, &connection, &session, &limits));
    let mut replies = loop {
        tokio::select! {
            opened = &mut opening => break opened.map_err(lost)?,
            overdue = clock.tick(&lane) => overdue?,
            () = stopped(&mut stop, &lane) => {
                if !is_over(&lane)? {
                    return Ok(());
                }
                // The opening is completed, so that the stream can be ended in order.
                break opening.await.map_err(lost)?;
            }
        }
    };

    let mut burst = Vec::with_capacity(burst::MAX_BURST_MESSAGES);
    let mut answers = Answers::new();
    // Kept over all bursts, because a wait that begins or ends takes locks.
    let mut stopped = pin!(stopped(&mut stop, &lane));
    let failure = loop {
        tokio::select! {
            next = replies.next_burst(&mut burst) => {
                // Responses that arrived before an error still count.
                handle(&lane, &mut burst, &mut answers, session.checksums)?;
                let mid_answer = replies.decoder().is_mid_message();
                if next.map_err(|status| StreamEnd { failure: lost(status), mid_answer })? == BurstOutcome::End {
                    let why = "it ended a stream of samples during the run".into();
                    let node = lane.node_name.clone();
                    return Err(Failure::NodeLost { node, why, gone: true }.into());
                }
            }
            overdue = clock.tick(&lane) => if let Err(late) = overdue {
                break late;
            },
            () = &mut stopped => {
                lane.wake_sender();
                match is_over(&lane) {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(failure) => break failure,
                }
                // After a successful run the node ends the stream too, which shows that it has seen
                // the client's end.
                while replies.next_burst(&mut burst).await.is_ok_and(|next| next != BurstOutcome::End) {
                    burst.clear();
                }
                return Ok(());
            }
        }
    };
    Err(cut_off(&lane, replies.decoder(), failure, session.checksums))
}

/// Opens a stream. A stream that the node refuses unprocessed is opened again, but only while no
/// sample was taken for it: that sample could be sent twice. A connection that the node closes is
/// not replaced, because the handshake with the node applies to this connection only.
async fn open<L: LoadGen>(
    lane: &Arc<Lane<L>>,
    connection: &Connection,
    session: &SessionHeader,
    limits: &NetworkSettings,
) -> Result<Messages<Replies>, tonic::Status> {
    let deadline = Instant::now() + limits.options.connect_timeout;
    loop {
        let status = match connection.infer(session, RequestStream::new(lane.clone())).await {
            Ok(replies) => return Ok(replies),
            Err(status) => status,
        };
        let is_refused = Http2Close::of(&status).is_some_and(|close| close.refuses_call());
        let is_unused = || lane.state.lock().report.sent == 0;
        if !(is_refused && is_unused() && Instant::now() < deadline) {
            return Err(status);
        }
        sleep(PAUSE).await;
        // A sample may have been taken until the refused stream was dropped.
        if !is_unused() {
            return Err(status);
        }
    }
}

/// Returns the end of a stream that `failure` ends before the run. Handles the whole messages that
/// have arrived before; the remaining bytes are a part of one message.
pub(crate) fn cut_off<L: LoadGen>(
    lane: &Lane<L>,
    replies: &mut Decoder,
    failure: Failure,
    checksums: bool,
) -> StreamEnd {
    let mut burst = Vec::new();
    let received = replies.take_messages(&mut burst);
    let handled = handle(lane, &mut burst, &mut Answers::new(), checksums);
    let ended = received.map_err(|error| lost(&lane.node_name, &error.into()));
    match handled.and(ended) {
        Ok(()) => StreamEnd { failure, mid_answer: replies.is_mid_message() },
        Err(wrong) => wrong.into(),
    }
}

/// Returns the failure for the status that ended a call.
fn lost(node: &str, status: &tonic::Status) -> Failure {
    let (node, why) = (node.to_owned(), error_text(status));
    match status.code() {
        tonic::Code::DataLoss => Failure::Corrupted { node, why },
        _ => Failure::NodeLost { node, why, gone: is_gone(status) },
    }
}

async fn stopped<L: LoadGen>(stop: &mut watch::Receiver<Stop>, lane: &Lane<L>) {
    // An error means that the run is gone, which is also a stop.
    let _ = stop.wait_for(|stop| stop.ends(lane.node)).await;
}

/// Returns true if the run has ended without a failure, and false if it has failed. Fails if the
/// run continues without the lane's node.
fn is_over<L: LoadGen>(lane: &Lane<L>) -> Result<bool, Failure> {
    if lane.run.stop.borrow().run {
        return Ok(lane.run.failure().is_none());
    }
    let why = "another stream to it failed".into();
    Err(Failure::NodeLost { node: lane.node_name.clone(), why, gone: true })
}

/// Timers of one lane: `silence` checks for a node that sends no response, and `lateness` checks
/// for single samples that are overdue.
struct Deadlines {
    sample_timeout: Duration,
    sample_deadline: Duration,
    silence: Interval,
    lateness: Interval,
    /// Set if the last check of single samples was skipped, because it ran too late, as after a
    /// suspension of this process.
    skipped: bool,
}

impl Deadlines {
    fn new(limits: &NetworkSettings) -> Self {
        let NetworkSettings { sample_timeout, sample_deadline, .. } = *limits;
        // Checks are rare, because each looks at every sample in flight, which takes time. On a
        // thread that is not blocked, a failure is detected within a tenth of the limit.
        let every = |limit: Duration, most: Duration| {
            let mut looks = interval((limit / 10).clamp(Duration::from_millis(10), most));
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            looks
        };
        let silence = every(sample_timeout, Duration::from_millis(500));
        let lateness = every(sample_deadline, Duration::from_secs(30));
        Self { sample_timeout, sample_deadline, silence, lateness, skipped: false }
    }

    /// Waits for the next check. Fails if samples are in flight and no response has arrived for too
    /// long. Also fails if one sample is in flight for too long while others are answered; this has
    /// its own limit, because a sample may wait its turn at a slow node. Time during which this
    /// process was suspended, and could not check, does not count.
    async fn tick<L: LoadGen>(&mut self, lane: &Lane<L>) -> Result<(), Failure> {
        let node = || lane.node_name.clone();
        tokio::select! {
            due = self.silence.tick() => {
                let (now, halt) = (Instant::now(), due.elapsed());
                let mut state = lane.state.lock();
                let Some(since) = state.in_flight.waiting_since() else { return Ok(()) };
                *since = now.min(*since + halt);
                if now - *since > self.sample_timeout {
                    return Err(Failure::NoAnswer { node: node(), waited: self.sample_timeout });
                }
            }
            due = self.lateness.tick() => {
                // After a suspension, responses may still be unread, so the next check decides.
                self.skipped = !self.skipped && due.elapsed() > self.lateness.period();
                if self.skipped {
                    return Ok(());
                }
                let now = Instant::now();
                let late = |sent| now.saturating_duration_since(sent) > self.sample_deadline;
                if lane.state.lock().in_flight.iter().any(|sample| late(sample.sent)) {
                    return Err(Failure::Overdue { node: node(), waited: self.sample_deadline });
                }
            }
        }
        Ok(())
    }
}
