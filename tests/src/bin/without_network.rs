//! The demo's model on the demo's data in this process, without LoadGen and without a network: what the accuracy
//! runs have to agree with.

use std::error::Error;

use netdiv_dataset as dataset;

fn main() -> Result<(), Box<dyn Error>> {
    let config = sut_node::Args::default().resolve()?;
    let (model, mut engines) = sut_node::engine::load(&config)?;
    let (digits, labels) = (dataset::open(dataset::DIGITS)?, dataset::digits_labels()?);
    let samples =
        (0..digits.sample_count()).map(|n| digits.read(n)).collect::<Result<Vec<_>, _>>()?;
    let samples = samples.into_iter().map(|s| model.read(s.into_payload(&model.input)));
    let answers = engines[0].infer(samples.collect::<Result<_, _>>()?)?.responses()?;
    let right = answers
        .iter()
        .zip(&labels)
        .filter(|(answer, label)| answer[..] == (**label as i32).to_le_bytes())
        .count();
    let percent = 100.0 * right as f64 / labels.len() as f64;
    println!(
        "{} without a network\n  accuracy  {percent:.3} % top-1 ({right} of {})",
        model.name,
        labels.len()
    );
    Ok(())
}
