//! Cost of streaming every token.

use std::error::Error;

use bytes::Bytes;
use e2e::SutNode;
use netdiv_contract::{
    SessionHeader, framing,
    v1::{InferRequest, InferResponse, Part, Tokens},
};
use netdiv_transport::{Connection, Options};
use tokio::{runtime::Builder, sync::mpsc};
use tokio_stream::wrappers::ReceiverStream;

use super::runs::{FIRST_US, OUTPUT, prompts};
use crate::meter::{Cost, Meter, median, spread};

/// Microseconds for each further token, so that concurrent outputs keep about the pace of a serving
/// engine's.
const FURTHER_US: u64 = 1000;

/// Number of outputs in a wave, which are concurrent, and number of waves.
const TOGETHER: usize = 64;
const WAVES: usize = 8;

/// Tokens that a stream requests, and the label of the row.
const ROWS: [(Tokens, &str); 3] = [
    (Tokens::Whole, "whole outputs"),
    (Tokens::First, "first tokens and whole outputs"),
    (Tokens::Every, "every token, and whole outputs"),
];

/// Cost of a stream, and the number of messages before whole outputs.
struct StreamCost {
    cost: Cost,
    ahead: usize,
}

impl StreamCost {
    fn cpu_us_per_sample(&self) -> f64 {
        self.cost.cpu_seconds * 1e6 / (WAVES * TOGETHER) as f64
    }
}

pub fn table(runs: usize) -> Result<String, Box<dyn Error>> {
    let [first, further] = [FIRST_US, FURTHER_US].map(|us| format!("{us}us"));
    let output = OUTPUT.to_string();
    let pace = ["--tokens-ttft", &first, "--tokens-tpot", &further];
    let node = SutNode::start(
        "every",
        &[&["--engine", "tokens", "--tokens-output", &output], &pace[..]].concat(),
    );
    let mut rounds = Vec::new();
    for run in 1..=runs {
        eprintln!("every token, round {run} of {runs}");
        let round = ROWS.map(|(wanted, _)| take(&node, wanted));
        rounds.push(round.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    let mut text = format!(
        "| without LoadGen, {TOGETHER} outputs at a time, {} tokens/s each | messages ahead, per sample | CPU per sample, both \
         ends | additional CPU per token, over first tokens |\n|---|---|---|---|\n",
        1_000_000 / FURTHER_US
    );
    for (place, (wanted, name)) in ROWS.iter().enumerate() {
        let of = |pick: &dyn Fn(&[StreamCost]) -> f64| {
            rounds.iter().map(|round| pick(round)).collect::<Vec<_>>()
        };
        let ahead = median(of(&|round| round[place].ahead as f64 / (WAVES * TOGETHER) as f64));
        let cpu = spread(of(&|round| round[place].cpu_us_per_sample()), 1);
        let more = |round: &[StreamCost]| {
            (round[place].cpu_us_per_sample() - round[1].cpu_us_per_sample()) / OUTPUT as f64
        };
        let more = match wanted {
            Tokens::Every => format!("{} µs", spread(of(&more), 2)),
            Tokens::Whole | Tokens::First => "–".into(),
        };
        text.push_str(&format!("| {name} | {ahead:.1} | {cpu} µs | {more} |\n"));
    }
    Ok(text)
}

/// Sends samples, one wave at a time, and reads all replies.
fn take(node: &SutNode, tokens: Tokens) -> Result<StreamCost, Box<dyn Error>> {
    let meter = Meter::with([node.id()]);
    let request =
        |(id, payload)| framing::encode(&InferRequest { id, payload, ..Default::default() });
    let wave: Vec<Bytes> = (0..).zip(prompts(TOGETHER)).map(request).collect();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let connection = Connection::open(&node.address, &Options::default()).await?;
        let (sender, requests) = mpsc::channel(TOGETHER);
        let session = SessionHeader { name: "every".into(), tokens, ..SessionHeader::default() };
        let started = meter.start();
        wave.iter().try_for_each(|message| sender.try_send(message.clone()))?;
        let mut replies = connection.infer(&session, ReceiverStream::new(requests)).await?;
        let (mut burst, mut ahead) = (Vec::<InferResponse>::new(), 0);
        for wave_number in 1..=WAVES {
            let mut whole = 0;
            while whole < TOGETHER {
                replies.next_burst(&mut burst).await?;
                if burst.is_empty() {
                    return Err("the node ended the stream".into());
                }
                for reply in burst.drain(..) {
                    match reply.part() {
                        Part::Whole if u64::from(reply.token_count) != OUTPUT => {
                            return Err(format!("expected an output, not {reply:?}").into());
                        }
                        Part::Whole => whole += 1,
                        Part::First | Part::More => ahead += 1,
                    }
                }
            }
            if wave_number < WAVES {
                wave.iter().try_for_each(|message| sender.try_send(message.clone()))?;
            }
        }
        Ok(StreamCost { cost: started.stop(), ahead })
    })
}
