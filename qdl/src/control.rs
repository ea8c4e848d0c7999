//! Calls to all nodes concurrently: the end of a series, the name of the SUT, and the digests.

use std::{future::Future, time::Duration};

use netdiv_contract::{
    tally::Tally,
    v1::{self, DescribeResponse, FlushRequest},
};
use netdiv_transport::Connection;

use crate::{
    agreement::changed,
    calls::{self, error_text, is_gone, unless_idle},
    failure::Failure,
    loadgen::LoadGen,
    node,
    qdl::Qdl,
};

/// Text that the SUT's name must contain (rules, section 6.2.1).
pub const SUT_NAME_PART: &str = "Network SUT";

/// Maximum time for a node to send all parts of its digests.
const DIGESTS_TIME: Duration = Duration::from_secs(600);

impl<L: LoadGen> Qdl<L> {
    /// Sends every node the number of samples that were sent to it, and compares this number with
    /// the number of samples that the node received. `losses` is the number of lost nodes before
    /// the call: if more nodes were lost since then, the numbers are not compared.
    pub(crate) fn end_series(&self, losses: usize) -> Result<(), Failure> {
        let session = &self.session.name;
        let counts: Vec<u64> = (0..self.nodes.len()).map(|n| self.cluster.sent_to(n)).collect();
        let received = self.ask_each_node(
            self.settings.network.control_timeout,
            |node, connection| {
                let request = FlushRequest { session: session.clone(), samples_sent: counts[node] };
                async move { Ok(connection.flush(request).await?.samples_received) }
            },
            |node, status| Failure::NoFlush { node, why: error_text(&status) },
        )?;
        for (node, received) in received {
            self.acknowledged.lock()[node] = received;
            // After a loss, more samples may have been sent in the meantime.
            if counts[node] != received && self.run.losses() == losses {
                let (sent, node) = (counts[node], self.node_name(node));
                self.run.fail(Failure::Miscounted { node, sent, received });
            }
        }
        Ok(())
    }

    /// Asks every node for its name over the network, and returns the SUT's name, `"<cluster>
    /// Network SUT [a, b]"` (rules, section 6.2.1). Lost nodes are left out.
    pub fn name(&self) -> Result<String, Failure> {
        self.run.check_failure()?;
        let infos = self.descriptions()?;
        let mut names = Vec::with_capacity(infos.len());
        for (node, now) in infos {
            let before = &self.nodes[node].description;
            let node = before.node_name.clone();
            // The names were unique at the start, so unchanged names are still unique.
            let failure = if node != now.node_name {
                Some(Failure::Renamed { node, now: now.node_name.clone() })
            } else {
                changed(before, &now).map(|what| Failure::Replaced { node, what })
            };
            if let Some(failure) = failure {
                self.run.fail(failure.clone());
                return Err(failure);
            }
            names.push(now.node_name);
        }
        let (cluster, names) = (&self.settings.cluster_name, names.join(", "));
        Ok(format!("{cluster} {SUT_NAME_PART} [{names}]"))
    }

    /// Asks every node that was not lost for its current description. Returns the index of each
    /// node with its description.
    pub fn descriptions(&self) -> Result<Vec<(usize, DescribeResponse)>, Failure> {
        let limit = self.settings.network.control_timeout;
        let addresses = &self.settings.nodes;
        self.ask_each_node(
            limit,
            |node, connection| {
                let address = addresses[node].clone();
                async move {
                    let answer = node::describe(&connection, &address, limit).await;
                    answer.map(|info| info.description).map_err(|error| {
                        let code = if error.is_loss() {
                            tonic::Code::Unavailable
                        } else {
                            tonic::Code::FailedPrecondition
                        };
                        tonic::Status::new(code, error.to_string())
                    })
                }
            },
            |node, status| Failure::NoName { node, why: error_text(&status) },
        )
    }

    /// Returns two tallies, which count the digests of all payloads that the nodes received and
    /// sent in this session: samples as they arrived, and responses before the node encoded them.
    /// Called after the test of a run with digests.
    pub fn digests(&self) -> Result<(Tally, Tally), Failure> {
        let (session, limit) = (&self.session.name, self.settings.network.control_timeout);
        let ask = |_, connection: Connection| {
            let session = session.clone();
            async move {
                let tally = |kind| calls::tally(&connection, &session, kind, limit);
                Ok((tally(v1::Tally::Samples).await?, tally(v1::Tally::Responses).await?))
            }
        };
        let tallies = self.ask_each_node(DIGESTS_TIME, ask, |node, status| Failure::NoDigests {
            node,
            why: error_text(&status),
        })?;
        let mut all = (Tally::default(), Tally::default());
        for (_, (samples, responses)) in tallies {
            all.0.join(samples);
            all.1.join(responses);
        }
        Ok(all)
    }

    /// Makes `call` to every node that was not lost, concurrently, and waits for all answers.
    /// Returns the index of each node with its answer. `limit` starts anew while the node has
    /// samples in flight. A node that does not answer is treated as lost, with the failure that
    /// `failure` makes from the node's name and the status of the call.
    fn ask_each_node<T, F>(
        &self,
        limit: Duration,
        call: impl Fn(usize, Connection) -> F,
        failure: impl Fn(String, tonic::Status) -> Failure,
    ) -> Result<Vec<(usize, T)>, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tonic::Status>> + Send + 'static,
    {
        let runtime = self.threads.runtime(0);
        let mut stop = self.run.stop.subscribe();
        let first = self.connections.iter().step_by(self.settings.connections_per_node.max(1));
        let there = first.enumerate().filter(|(node, _)| !self.cluster.is_lost(*node));
        let ask = |(node, connection): (usize, &Connection)| {
            let (call, cluster) = (call(node, connection.clone()), self.cluster.clone());
            // Overdue responses are detected by their own deadlines, not here.
            (node, runtime.spawn(unless_idle(limit, call, move || cluster.has_pending(node))))
        };
        let asked: Vec<_> = there.map(ask).collect();
        let mut answers = Vec::with_capacity(asked.len());
        for (node, task) in asked {
            let abort = task.abort_handle();
            let answer = runtime.block_on(async {
                tokio::select! {
                    answer = task => Some(answer),
                    _ = stop.wait_for(|stop| stop.ends(node)) => None,
                }
            });
            match answer {
                Some(Ok(Ok(answer))) => answers.push((node, answer)),
                Some(Ok(Err(status))) => {
                    let gone = is_gone(&status);
                    let failure = failure(self.node_name(node), status);
                    if gone {
                        self.cluster.lose(node, failure);
                    } else {
                        self.run.fail(failure);
                    }
                }
                Some(Err(panic)) => self.run.fail(Failure::Internal(panic.to_string())),
                // The run has failed, or continues without the node.
                None => abort.abort(),
            }
            self.run.check_failure()?;
        }
        Ok(answers)
    }

    fn node_name(&self, node: usize) -> String {
        self.nodes[node].description.node_name.clone()
    }
}
