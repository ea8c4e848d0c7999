//! Retries after a server is overloaded or did not process a request, at another server if there is
//! one.

use std::time::Duration;

use crate::{
    engine::remote::{
        refusal::Refusal,
        servers::{Request, Servers},
        token_receiver::{TokenReceiver, pause},
    },
    ground::error::EngineError,
};

/// Maximum number of retries of a request.
const RETRIES: usize = 3;

/// Pause before a retry, if the server states none.
const PAUSE: Duration = Duration::from_millis(500);

/// Maximum pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Attempts to have a server answer one sample.
pub(crate) struct Retries<'a, C> {
    servers: &'a Servers<C>,
    refused: usize,
    busy: Option<Request<'a, C>>,
}

impl<'a, C> Retries<'a, C> {
    pub(crate) fn new(servers: &'a Servers<C>) -> Self {
        Self { servers, refused: 0, busy: None }
    }

    /// Picks the server for the next attempt, if possible another one than refused the last.
    pub(crate) fn next(&mut self) -> Result<Request<'a, C>, EngineError> {
        let server = self.servers.pick(self.busy.as_deref());
        self.busy = None;
        server.ok_or_else(|| EngineError::Failed("there is no server".into()))
    }

    /// Waits until the next attempt, after `server` refused the last one. Fails if no further
    /// attempt is allowed.
    pub(crate) async fn wait_for_retry(
        &mut self,
        server: Request<'a, C>,
        refused: Refusal,
        taker: &impl TokenReceiver,
    ) -> Result<(), EngineError> {
        let failed = |why| Err(EngineError::Failed(format!("{}: {why}", *server)));
        let (wanted, time, why) = match refused {
            Refusal::BadSample(why) => {
                return Err(EngineError::BadSample(format!(
                    "{} refused the prompt: {why}",
                    *server
                )));
            }
            Refusal::Failed(why) => return failed(why),
            // A new connection usually helps, so retry without a pause.
            Refusal::NotProcessed(why) if self.refused == 0 => (None, Duration::ZERO, why),
            Refusal::NotProcessed(why) => (None, PAUSE, why),
            Refusal::Busy { pause, why } => (pause, pause.unwrap_or(PAUSE), why),
        };
        self.refused += 1;
        if self.refused <= RETRIES && time <= LONGEST_PAUSE {
            pause(time, taker).await.map_err(EngineError::Failed)?;
            // The request stays in flight meanwhile, so that the busy server does not attract the
            // next samples.
            self.busy = Some(server);
            return Ok(());
        }
        let wants =
            |time: Duration| format!("the server asks for a pause of {} s, ", time.as_secs_f64());
        let (wants, tries) = (wanted.map_or_else(String::new, wants), self.refused);
        failed(format!("{why}; {wants}tried {tries} times"))
    }
}
