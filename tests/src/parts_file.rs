//! Writer of data sets with several parts for tests of all crates.

#![allow(unreachable_pub, reason = "crates include this file")]

use std::{fs, path::Path};

use netdiv_contract::tokens;
use netdiv_dataset::write_ids;
use netdiv_node_common::resources::files::sha256_of;
use serde_json::json;

/// Writes a data set as `deploy/data` does: for each part, its name, its prompts, and the maximum
/// number of tokens of an output. Returns the path of the file that lists the parts.
pub fn write_parts(folder: &Path, name: &str, parts: &[(&str, Vec<Vec<i32>>, u32)]) -> String {
    let mut text = format!("form = 1\nbenchmark = \"{name}\"\n");
    for (part, prompts, limit) in parts {
        let (file, mut ids) = (format!("{name}-{part}.ids"), Vec::new());
        write_ids(&mut ids, prompts).expect("memory");
        fs::write(folder.join(&file), &ids).expect("a writable folder");
        let sample = |ids: &Vec<i32>| json!({"name": "prompt", "sha256": sha256_of([&tokens::to_bytes(ids)[..]])});
        let manifest = json!({
            "form": 1, "benchmark": name, "subset": "validation", "samples_form": "ids",
            "complete": true, "samples": prompts.iter().map(sample).collect::<Vec<_>>(),
        });
        fs::write(folder.join(format!("{file}.manifest.json")), manifest.to_string())
            .expect("a writable folder");
        let (count, sha256) = (prompts.len(), sha256_of([&ids[..]]));
        text += &format!(
            "[{part}]\nfile = \"{file}\"\nsamples = {count}\nmax_output_tokens = {limit}\nsha256 = \"{sha256}\"\n"
        );
    }
    let path = folder.join(format!("{name}.toml"));
    fs::write(&path, text).expect("a writable folder");
    path.display().to_string()
}
