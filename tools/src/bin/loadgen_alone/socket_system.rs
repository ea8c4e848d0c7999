//! A system behind a plain TCP connection: a simple program that moves samples and responses over
//! a network. LoadGen's thread writes each sample, and a thread at the other end reads them. The
//! system of `scheduled_system.rs` writes tokens from its own thread; a system that responds at
//! once writes one message for each read, from the thread that reads. Another thread at LoadGen's
//! end reads the responses. There is no window, no check, no second node and no encryption.

use std::{
    error::Error,
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use loadgen_sys::{Abort, ResponseId, Samples, SystemUnderTest, complete, first_token};

use crate::scheduled_system::{Schedule, ScheduledSystem, TokenSink};

/// Length of the head of a sample, in bytes: its slot (see [`Slots`]).
const SLOT_BYTES: usize = 4;

/// Length of the head of a response, in bytes: two numbers. The first is twice the sample's slot,
/// plus one if the response is whole. The second is the length of the rest, in bytes.
const HEAD_BYTES: usize = 8;

/// Response of a system that responds at once.
pub(crate) const AT_ONCE: &[u8] = b"nothing.";

/// Maximum length of one read, in bytes.
const READ_BYTES: usize = 1 << 20;

/// LoadGen's end of the connection.
pub(crate) struct SocketSystem {
    sending: Mutex<Sending>,
    places: Arc<Mutex<Slots>>,
}

struct Sending {
    socket: TcpStream,
    /// Message under construction: a slot and a payload.
    message: Vec<u8>,
}

/// Samples in flight by slot, the number that identifies a sample at both ends.
#[derive(Default)]
struct Slots {
    taken: Vec<Option<ResponseId>>,
    free: Vec<u32>,
}

/// System at the other end of the connection.
trait RemoteSystem: Send + 'static {
    /// Takes samples that arrived at `came`. Returns false if it cannot respond any more.
    fn take(&mut self, came: Instant, slots: impl Iterator<Item = u32>) -> bool;
}

impl RemoteSystem for ScheduledSystem<u32> {
    fn take(&mut self, came: Instant, mut slots: impl Iterator<Item = u32>) -> bool {
        slots.all(|slot| self.begin(came, slot))
    }
}

/// Responds at once.
impl RemoteSystem for Answers {
    fn take(&mut self, _: Instant, slots: impl Iterator<Item = u32>) -> bool {
        self.whole(slots, AT_ONCE);
        self.flush()
    }
}

impl SocketSystem {
    /// Starts a system that sends tokens on this schedule.
    pub(crate) fn on_schedule(schedule: Schedule, bytes: &str) -> Result<Self, Box<dyn Error>> {
        Self::start(bytes, |answers| ScheduledSystem::start(schedule, answers))
    }

    /// Starts a system that responds at once.
    pub(crate) fn at_once(bytes: &str) -> Result<Self, Box<dyn Error>> {
        Self::start(bytes, Ok)
    }

    /// Starts a system that receives payloads of this number of bytes.
    fn start<System: RemoteSystem>(
        bytes: &str,
        system: impl FnOnce(Answers) -> io::Result<System>,
    ) -> Result<Self, Box<dyn Error>> {
        let payload_bytes: usize =
            bytes.parse().map_err(|_| format!("`{bytes}` is not a number of bytes"))?;
        let message = vec![0; SLOT_BYTES + payload_bytes];
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let socket = TcpStream::connect(listener.local_addr()?)?;
        let (remote, _) = listener.accept()?;
        [&socket, &remote].iter().try_for_each(|socket| socket.set_nodelay(true))?;
        let system = system(Answers { socket: remote.try_clone()?, ready: Vec::new() })?;
        let length = message.len();
        thread::Builder::new()
            .name("samples".into())
            .spawn(move || give_up(read_samples(remote, length, system)))?;
        let places = Arc::<Mutex<Slots>>::default();
        let (told, responses) = (places.clone(), socket.try_clone()?);
        thread::Builder::new()
            .name("responses".into())
            .spawn(move || give_up(read_responses(responses, &told)))?;
        Ok(Self { sending: Mutex::new(Sending { socket, message }), places })
    }
}

/// Ends the process. Without its reading threads LoadGen would wait for ever.
fn give_up(outcome: io::Result<()>) {
    eprintln!("a connection ended: {outcome:?}");
    process::exit(1);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Passes received bytes to `take`, which returns the number that it used, or `None` to stop. Ends
/// when the peer closes the connection.
fn read_all(mut socket: TcpStream, mut take: impl FnMut(&[u8]) -> Option<usize>) -> io::Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    let mut filled = 0;
    loop {
        match socket.read(&mut buffer[filled..])? {
            0 if filled == buffer.len() => return Err(io::Error::other("a message is too long")),
            0 => return Ok(()),
            read => filled += read,
        }
        let Some(used) = take(&buffer[..filled]) else { return Ok(()) };
        buffer.copy_within(used..filled, 0);
        filled -= used;
    }
}

/// Passes every sample that has arrived to the system.
fn read_samples(socket: TcpStream, length: usize, mut system: impl RemoteSystem) -> io::Result<()> {
    read_all(socket, |bytes| {
        let (came, samples) = (Instant::now(), bytes.chunks_exact(length));
        let used = samples.len() * length;
        system.take(came, samples.map(little_endian)).then_some(used)
    })
}

/// Connection from the system to LoadGen.
struct Answers {
    socket: TcpStream,
    ready: Vec<u8>,
}

impl Answers {
    fn push(&mut self, place: u32, is_whole: bool, tokens: &[u8]) {
        for number in [place << 1 | u32::from(is_whole), tokens.len() as u32] {
            self.ready.extend(number.to_le_bytes());
        }
        self.ready.extend(tokens);
    }
}

impl TokenSink<u32> for Answers {
    fn first(&mut self, place: &mut u32, token: &[u8]) {
        self.push(*place, false, token);
    }

    fn whole(&mut self, places: impl Iterator<Item = u32>, output: &[u8]) {
        places.for_each(|place| self.push(place, true, output));
    }

    fn flush(&mut self) -> bool {
        let is_written = self.ready.is_empty() || self.socket.write_all(&self.ready).is_ok();
        self.ready.clear();
        is_written
    }
}

/// Reports received responses to LoadGen.
fn read_responses(socket: TcpStream, places: &Mutex<Slots>) -> io::Result<()> {
    read_all(socket, |bytes| {
        let (mut used, mut whole) = (0, Vec::new());
        while let Some((head, rest)) = bytes[used..].split_at_checked(HEAD_BYTES)
            && let Some(tokens) = rest.get(..little_endian(&head[4..]) as usize)
        {
            used += HEAD_BYTES + tokens.len();
            let (place, is_whole) = (little_endian(head) >> 1, little_endian(head) & 1 == 1);
            let sample = lock(places).taken[place as usize].take();
            // LoadGen's thread takes the lock for each sample.
            if let Some(mut id) = sample {
                if is_whole {
                    whole.push((id, tokens));
                    lock(places).free.push(place);
                } else {
                    first_token(&mut id, tokens);
                    lock(places).taken[place as usize] = Some(id);
                }
            }
        }
        complete(whole);
        Some(used)
    })
}

impl SystemUnderTest for SocketSystem {
    fn name(&self) -> Result<String, Abort> {
        Ok("behind sockets".into())
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        let Sending { socket, message } = &mut *lock(&self.sending);
        for sample in samples {
            let place = {
                let mut places = lock(&self.places);
                let place = places.free.pop().unwrap_or(places.taken.len() as u32);
                if place as usize == places.taken.len() {
                    places.taken.push(None);
                }
                places.taken[place as usize] = Some(sample.response_id);
                place
            };
            message[..SLOT_BYTES].copy_from_slice(&place.to_le_bytes());
            socket.write_all(message).map_err(|error| Abort(error.to_string()))?;
        }
        Ok(())
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}
