//! The receiving half of a stream, from its opening to its end.

use std::{pin::pin, sync::Arc};

use netdiv_contract::{
    SessionHeader,
    burst::{self, Messages, Next},
    framing::Decoder,
};
use netdiv_transport::{Connection, Http2Close, Replies};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    calls::{is_gone, words},
    deadlines::Deadlines,
    failure::Failure,
    lane::Lane,
    loadgen::LoadGen,
    node::PAUSE,
    outgoing::Outgoing,
    replies::{Answers, handle},
    run::Stop,
    settings::NetworkSettings,
};

/// Why a stream ended before the run did.
pub(crate) struct Broken {
    pub(crate) failure: Failure,
    /// Whether a part of a message had come.
    pub(crate) mid_answer: bool,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self { failure, mid_answer: false }
    }
}

/// Serves one stream until the run stops.
pub(crate) async fn serve<L: LoadGen>(
    lane: Arc<Lane<L>>,
    connection: Connection,
    session: SessionHeader,
    limits: NetworkSettings,
) -> Result<(), Broken> {
    let lost = |status: tonic::Status| lost(&lane.node_name, &status);
    let mut stop = lane.run.stop.subscribe();
    let mut clock = Deadlines::new(&limits);

    // A node may answer the call with the first reply only, so samples flow before it has.
    let mut opening = pin!(open(&lane, &connection, &session, &limits));
    let mut replies = loop {
        tokio::select! {
            opened = &mut opening => break opened.map_err(lost)?,
            overdue = clock.tick(&lane) => overdue?,
            () = stopped(&mut stop, &lane) => {
                if !is_over(&lane)? {
                    return Ok(());
                }
                // The stream is opened all the same, so that it can be ended in order.
                break opening.await.map_err(lost)?;
            }
        }
    };

    let mut burst = Vec::with_capacity(burst::MESSAGES);
    let mut answers = Answers::new();
    let failure = loop {
        tokio::select! {
            next = replies.next_burst(&mut burst) => {
                // Answers that came before an error are answers.
                handle(&lane, &mut burst, &mut answers, session.checksums)?;
                let mid_answer = replies.decoder().is_mid_message();
                if next.map_err(|status| Broken { failure: lost(status), mid_answer })? == Next::End {
                    let why = "it ended a stream of samples in mid-run".into();
                    let node = lane.node_name.clone();
                    return Err(Failure::NodeLost { node, why, gone: true }.into());
                }
            }
            overdue = clock.tick(&lane) => if let Err(late) = overdue {
                break late;
            },
            () = stopped(&mut stop, &lane) => {
                lane.wake_sender();
                match is_over(&lane) {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(failure) => break failure,
                }
                // After a run that went well the node ends the stream as well; then it has seen our end.
                while replies.next_burst(&mut burst).await.is_ok_and(|next| next != Next::End) {
                    burst.clear();
                }
                return Ok(());
            }
        }
    };
    Err(cut_off(&lane, replies.decoder(), failure, session.checksums))
}

/// Opens a stream. One that the node refuses unprocessed is opened again as long as no sample was taken for it, which could go out
/// twice; a connection that it closes is not, because it is this connection over which the node was agreed with.
async fn open<L: LoadGen>(
    lane: &Arc<Lane<L>>,
    connection: &Connection,
    session: &SessionHeader,
    limits: &NetworkSettings,
) -> Result<Messages<Replies>, tonic::Status> {
    let deadline = Instant::now() + limits.options.connect_timeout;
    loop {
        let status = match connection.infer(session, Outgoing::new(lane.clone())).await {
            Ok(replies) => return Ok(replies),
            Err(status) => status,
        };
        let is_refused = Http2Close::of(&status).is_some_and(|close| close.refuses_call());
        let is_unused = || lane.state.lock().report.sent == 0;
        if !(is_refused && is_unused() && Instant::now() < deadline) {
            return Err(status);
        }
        sleep(PAUSE).await;
        // A sample may have been taken until the refused stream was given up.
        if !is_unused() {
            return Err(status);
        }
    }
}

/// Ends a stream before the run ends. Whole messages that are here still count; what is left then is a part of one.
pub(crate) fn cut_off<L: LoadGen>(
    lane: &Lane<L>,
    replies: &mut Decoder,
    failure: Failure,
    checksums: bool,
) -> Broken {
    let mut burst = Vec::new();
    let received = replies.take_messages(&mut burst);
    let handled = handle(lane, &mut burst, &mut Answers::new(), checksums);
    let ended = received.map_err(|error| lost(&lane.node_name, &error.into()));
    match handled.and(ended) {
        Ok(()) => Broken { failure, mid_answer: replies.is_mid_message() },
        Err(wrong) => wrong.into(),
    }
}

/// The failure that the end of a call stands for.
fn lost(node: &str, status: &tonic::Status) -> Failure {
    let (node, why) = (node.to_owned(), words(status));
    match status.code() {
        tonic::Code::DataLoss => Failure::Corrupted { node, why },
        _ => Failure::NodeLost { node, why, gone: is_gone(status) },
    }
}

async fn stopped<L: LoadGen>(stop: &mut watch::Receiver<Stop>, lane: &Lane<L>) {
    // An error means that the run is gone, which is a stop as well.
    let _ = stop.wait_for(|stop| stop.ends(lane.node)).await;
}

/// Why a stream has to stop: true when the run has ended well, false when it has failed. An error when the run goes on
/// without this node.
fn is_over<L: LoadGen>(lane: &Lane<L>) -> Result<bool, Failure> {
    if lane.run.stop.borrow().run {
        return Ok(lane.run.failure().is_none());
    }
    let why = "another stream to it broke off".into();
    Err(Failure::NodeLost { node: lane.node_name.clone(), why, gone: true })
}
