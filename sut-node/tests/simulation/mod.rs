//! Simulation of the node's inside, under a scheduler that a seed drives. It runs the real reading
//! of streams, admission, batcher, engines' steps and replies. Clients vanish and engines of all
//! kinds fail, in any order that threads and tasks could cause. There are no threads, no sockets
//! and no sleeps, and a schedule can be repeated: `NETDIV_SEED=n cargo test simulation`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod client;
mod engine_faults;
mod engines;
mod streaming_faults;

use std::{
    cell::Cell,
    collections::{BTreeMap, VecDeque},
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use netdiv_contract::{
    SessionHeader,
    burst::Messages,
    checksum, framing,
    v1::{self, InferRequest, Tokens},
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::sync::watch;
use tonic::Status;

use self::{
    client::{Flag, LONGEST, Reading, SimulatedClient, Wire},
    engine_faults::Unreliable,
    engines::DrivenEngine,
    streaming_faults::UnreliableStreaming,
};
use crate::{
    batching::{batcher::BatchLimits, queue::BatchQueue},
    ground::{clock::Clock, condition::Condition},
    intake::{evidence::Evidence, node_state::NodeState, service::Service},
    model::{identity::Model, token_limits::TokenLimits},
    sample::{queued_sample::QueuedSample, token_room::TokenRoom},
    settings::{args::Args, config::Config},
};

/// Number of schedules of a test.
const SCHEDULES: u64 = 3000;

/// Number of steps of a schedule, before all clients end.
const STEPS: usize = 120;

/// Maximum number of steps from the end of all clients until everything has ended.
const MOST_LAST_STEPS: usize = 20_000;

const MAX_BATCH: usize = 4;
const MAX_BYTES: u32 = 400;

/// Maximum number of tokens in flight, less than the samples may need.
const MAX_TOKENS: u32 = 60;

thread_local! {
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn now() -> Instant {
    NOW.get().unwrap_or_else(Instant::now)
}

struct Simulation {
    random: StdRng,
    service: Service,
    queue: Arc<BatchQueue<QueuedSample>>,
    engines: Vec<DrivenEngine>,
    faulty: Arc<AtomicBool>,
    condition: watch::Sender<Condition>,
    clients: Vec<SimulatedClient>,
    max_samples: usize,
    max_tokens: usize,
    next_id: u64,
    gives_tokens: bool,
}

impl Simulation {
    fn new(seed: u64, config: &Config, model: &Model) -> Self {
        NOW.set(Some(Instant::now()));
        let mut random = StdRng::seed_from_u64(seed);
        let rules = BatchLimits {
            max_batch: MAX_BATCH,
            max_tokens: None,
            is_padded: false,
            max_bytes: random.random_bool(0.3).then_some(300),
            timeout: Duration::from_millis(random.random_range(0..5)),
            buckets: Vec::new(),
        };
        // Engines that only wait never let samples wait for other samples.
        let in_tasks: bool = random.random();
        let rules = if in_tasks { BatchLimits { timeout: Duration::ZERO, ..rules } } else { rules };
        let queue = Arc::new(BatchQueue::new(rules, Clock(now)));
        let condition = watch::Sender::new(Condition::Well);
        let max_samples = random.random_range(1..12);
        let gives_tokens: bool = in_tasks || random.random();
        let max_in_flight_tokens = (gives_tokens && random.random())
            .then_some(TokenRoom { max_tokens: MAX_TOKENS, longest_output: 10 });
        let mut config = config.clone();
        config.node.max_in_flight_samples = Some(max_samples);
        config.node.max_in_flight_bytes = MAX_BYTES;
        config.node.max_in_flight_tokens = max_in_flight_tokens;
        config.node.max_payload_bytes = 2 * MAX_BYTES as usize;
        let model = Model { tokens: gives_tokens.then(TokenLimits::default), ..model.clone() };
        let evidence = Evidence::new(|| Ok(v1::Machine::default())).unwrap();
        let node = NodeState::new(
            &config,
            model,
            evidence,
            queue.clone(),
            max_samples,
            condition.subscribe(),
        );
        let faulty = Arc::new(AtomicBool::new(true));
        let engines = (0..random.random_range(1..3))
            .map(|_| {
                let (batches, random) = (VecDeque::new(), StdRng::from_rng(&mut random));
                let (faulty, samples) = (faulty.clone(), Vec::new());
                if !gives_tokens {
                    return DrivenEngine::batched(Unreliable { random, batches, faulty }, &queue);
                }
                let (room, waits) = (max_in_flight_tokens, Arc::default());
                let engine = UnreliableStreaming { random, samples, faulty, room, waits };
                if in_tasks {
                    DrivenEngine::waiting(engine, &queue)
                } else {
                    DrivenEngine::streaming(engine, &queue)
                }
            })
            .collect();
        let (clients, max_samples) = (Vec::new(), max_samples as usize);
        let service = Service(Arc::new(node));
        Self {
            random,
            service,
            queue,
            engines,
            faulty,
            condition,
            clients,
            max_samples,
            max_tokens: max_in_flight_tokens.map_or(0, |room| room.max_tokens as usize),
            next_id: 0,
            gives_tokens,
        }
    }

    fn come(&mut self) {
        let name = format!("client {}", self.clients.len());
        let (wire, checksums) = (Wire::default(), self.random.random());
        let tokens = match self.random.random_range(0..3) {
            0 if self.gives_tokens => Tokens::First,
            1 if self.gives_tokens => Tokens::Every,
            _ => Tokens::Whole,
        };
        let header =
            SessionHeader { name: name.clone(), checksums, tokens, ..SessionHeader::default() };
        let requests = Messages::new(wire.clone(), LONGEST);
        let (reading, replies) = match self.service.open(&header, requests) {
            Ok((reading, replies)) => (reading, Messages::new(replies, LONGEST)),
            Err(status) => {
                assert_ne!(*self.condition.borrow(), Condition::Well, "{status}");
                return;
            }
        };
        let (reading, replies): (Option<Reading>, _) = (Some(Box::pin(reading)), Some(replies));
        let (may_read, may_take) = (Flag::new(), Flag::new());
        let (open, answered, ended, end) = (BTreeMap::new(), 0, false, None);
        self.clients.push(SimulatedClient {
            name,
            wire,
            checksums,
            tokens,
            reading,
            may_read,
            replies,
            may_take,
            open,
            answered,
            ended,
            end,
        });
    }

    fn any_client(&mut self) -> Option<usize> {
        let count = self.clients.len();
        (count > 0).then(|| self.random.random_range(0..count))
    }

    fn send(&mut self, client: usize) {
        for _ in 0..self.random.random_range(1..8) {
            self.next_id += 1;
            let id = self.next_id;
            // Some samples are longer than the whole room, some longer than allowed.
            let bytes = match self.random.random_range(0..20) {
                0 => self.random.random_range(0..3 * MAX_BYTES as usize),
                _ => self.random.random_range(8..100),
            };
            let mut payload = id.to_le_bytes().to_vec();
            payload.resize(bytes.max(8), 7);
            let encoding = if self.random.random_ratio(1, 30) { 77 } else { 0 };
            let client = &mut self.clients[client];
            if client.ended {
                return;
            }
            let crc32c = client.checksums.then(|| {
                checksum::request_checksum(checksum::payload_checksum(&payload), id, encoding, 0)
            });
            let payload = payload.into();
            let request = InferRequest { id, encoding, crc32c, payload, ..InferRequest::default() };
            let chunk = framing::encode(&request);
            client.wire.change(|way| way.chunks.push_back(Ok(chunk)));
            client.open.insert(id, (request, Vec::new()));
        }
    }

    /// Disconnects a client, which reads no more replies. Messages that the client has sent may or
    /// may not arrive.
    fn vanish(&mut self, client: usize) {
        let client = self.clients.swap_remove(client);
        drop(client.replies);
        client.wire.change(|way| {
            way.chunks.push_back(Err(Status::cancelled("it has gone")));
            way.ended = true;
        });
        // The node's task may continue for any time.
        let ghost = SimulatedClient { replies: None, open: BTreeMap::new(), ended: true, ..client };
        self.clients.push(SimulatedClient { end: Some(Ok(())), ..ghost });
    }

    fn step(&mut self) {
        let Some(client) = self.any_client() else { return self.come() };
        match self.random.random_range(0..100) {
            0..5 => self.come(),
            5..20 => self.send(client),
            20..45 => drop(self.clients[client].read()),
            45..65 => drop(self.clients[client].take()),
            65..85 => {
                let engine = self.random.random_range(0..self.engines.len());
                self.engines[engine].step();
            }
            85..92 => {
                NOW.set(Some(now() + Duration::from_micros(self.random.random_range(0..3000))))
            }
            92..95 => self.queue.flush(),
            95..97 => {
                let client = &mut self.clients[client];
                client.ended = true;
                client.wire.change(|way| way.ended = true);
            }
            97..99 => self.vanish(client),
            _ => match self.random.random_range(0..4) {
                0 => drop(self.condition.send_replace(Condition::Ending("SIGTERM"))),
                1 => {
                    let streams = self.service.0.streams();
                    streams.fail_waiting(&Status::aborted("an engine hangs"));
                }
                _ => {}
            },
        }
        self.check();
    }

    /// Checks the invariants that hold after every step.
    fn check(&self) {
        let [samples, ..] = self.service.0.admission().free();
        assert!(samples <= self.max_samples, "more room than there is");
        assert!(self.queue.len() + samples <= self.max_samples, "more is queued than was admitted");
    }

    /// Ends all clients. Checks that no sample of a connected client remains, and that no permit is
    /// lost.
    fn finish(mut self) {
        self.faulty.store(false, Ordering::SeqCst);
        for client in &mut self.clients {
            client.ended = true;
            client.wire.change(|way| way.ended = true);
        }
        for step in 0.. {
            assert!(step < MOST_LAST_STEPS, "it never ends");
            let mut moved = false;
            for client in &mut self.clients {
                moved |= client.read() | client.take();
            }
            for engine in &mut self.engines {
                moved |= engine.step();
            }
            self.check();
            if !moved && self.queue.len() == 0 {
                break;
            }
            NOW.set(Some(now() + Duration::from_millis(1)));
        }
        let ending = *self.condition.borrow() != Condition::Well;
        for client in &self.clients {
            let name = &client.name;
            assert!(client.reading.is_none(), "{name} is still read");
            match client.end.as_ref().unwrap_or_else(|| panic!("{name} waits for ever")) {
                Ok(()) => assert!(client.open.is_empty(), "{name}: {:?}", client.open.keys()),
                Err(status) if status.code() == tonic::Code::Aborted => {}
                Err(status) => {
                    assert!(ending && status.message().contains("is answered"), "{name}: {status}");
                    // Requests that the node has not read were not begun.
                    let unread = client.wire.0.lock().chunks.len();
                    assert!(client.open.len() <= unread, "{name}: {:?}", client.open.keys());
                }
            }
        }
        let streams = self.service.0.streams();
        assert_eq!((streams.owed(), self.queue.len()), (0, 0));
        let room = [self.max_samples, MAX_BYTES as usize, self.max_tokens];
        assert_eq!(self.service.0.admission().free(), room, "permits are lost");
    }
}

fn config() -> Config {
    Args::of("engine = 'echo'").resolve().unwrap()
}

#[test]
fn no_sample_is_lost_or_answered_twice_in_any_schedule() {
    let config = config();
    let (model, _) = config.engine.settings().load(&config.node).unwrap();
    let chosen = std::env::var("NETDIV_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = chosen.map_or(0..SCHEDULES, |seed| seed..seed + 1);
    let started = Instant::now();
    for seed in seeds.clone() {
        let run = || {
            let mut simulation = Simulation::new(seed, &config, &model);
            (0..STEPS).for_each(|_| simulation.step());
            simulation.finish();
        };
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            println!("to run it again: NETDIV_SEED={seed} cargo test simulation");
            resume_unwind(panic);
        }
    }
    let (count, time) = (seeds.count(), started.elapsed());
    println!("{count} schedules, {:.0} a second", count as f64 / time.as_secs_f64());
}
