//! Accuracy of a demo model on its data in this process, without LoadGen and without a network, as
//! the reference for accuracy runs.

use std::{env, error::Error, sync::mpsc};

use netdiv_contract::v1::{Status, Tokens};
use netdiv_dataset::{self as dataset, Labels};
use netdiv_node_common::process::{parse_keys, say};
use sut_node::{Args, InProcess};

fn main() -> Result<(), Box<dyn Error>> {
    let name = env::args().nth(1).unwrap_or_else(|| dataset::DIGITS.into());
    let engine = if name == dataset::SORTING { "decoder" } else { "onnx" };
    let args: Args = parse_keys(["--engine", engine, "--model", &name])?;
    let labels = Labels::of_dataset(&name)?.ok_or("choose a data set of the demo")?;
    let samples = dataset::open(&name)?;
    let (answered, answers) = mpsc::sync_channel(labels.count());
    let node = InProcess::start(&args.resolve()?, Tokens::Whole, move |replies| {
        // The receiver is gone once a response was an error.
        replies.into_iter().for_each(|reply| drop(answered.send(reply)));
    })?;
    let input = &node.model().input;
    let payload = |index| Ok((index as u64, samples.read(index)?.into_payload(input)));
    let payloads = (0..labels.count()).map(payload).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    node.push(payloads.into_iter())?;
    node.flush();
    let mut right = 0;
    for _ in 0..labels.count() {
        let reply = answers.recv()?;
        if reply.status() != Status::Ok {
            return Err(reply.error.into());
        }
        let place = reply.id as usize;
        right += usize::from(match &labels {
            Labels::Classes(classes) => reply.payload[..] == (classes[place] as i32).to_le_bytes(),
            Labels::Outputs(outputs) => reply.payload == outputs[place],
        });
    }
    let metric = match labels {
        Labels::Classes(_) => "top-1",
        Labels::Outputs(_) => "exact match",
    };
    let (model, total) = (&node.model().name, labels.count());
    let percent = 100.0 * right as f64 / total as f64;
    say(format!(
        "{model} without a network\n  accuracy  {percent:.3} % {metric} ({right} of {total})"
    ))?;
    Ok(())
}
