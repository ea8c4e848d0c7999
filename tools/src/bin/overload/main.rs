//! Measures peak memory at both ends under overload, and compares it with the bounds from the
//! settings: `overload [--largest] [--write FILE]`. It ends with 1 if a bound does not hold.
//! `--largest` adds a query of 10⁸ samples, which takes some 6 GB and minutes.
//!
//! - `bound.rs`: bounds from the settings
//! - `runs.rs`: overloading runs

mod bound;
mod runs;

use std::{env, error::Error, path::PathBuf};

use e2e::document::Generated;

const DOCUMENT: Generated = Generated("Memory under overload");

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let (mut largest, mut document) = (false, None);
    while let Some(arg) = args.next() {
        match &arg[..] {
            "--largest" => largest = true,
            "--write" => document = Some(PathBuf::from(args.next().ok_or("--write FILE")?)),
            _ => return Err("usage: overload [--largest] [--write FILE]".into()),
        }
    }
    if let Some(document) = &document {
        DOCUMENT.check(document)?;
    }
    let rows = runs::measure(largest)?;
    let mut text = String::from(
        "| situation | transport | samples | verdict | LoadGen node, MiB | LoadGen alone | bound | SUT node, MiB | bound | \
         |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    rows.iter().for_each(|row| text += &row.line());
    text += &bound::in_words();
    println!("{text}");
    if let Some(document) = document {
        let size = if largest { " LARGEST=1" } else { "" };
        DOCUMENT.write(&document, &format!("make overload WRITE=1{size}"), &text)?;
    }
    match rows.iter().filter(|row| !row.holds()).count() {
        0 => Ok(()),
        broken => Err(format!("{broken} bounds do not hold").into()),
    }
}
