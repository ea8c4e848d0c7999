//! The round of the program's LoadGen, and a benchmark table in which round v5.0 has its seeds.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::process::program;

const TABLE: &str = include_str!("../../loadgen-node/rules/src/book/table.toml");

/// Returns the round that the program can run, such as `v6.1`.
pub fn own_round() -> String {
    let output = Command::new(program("loadgen-node")).arg("--version").output();
    let text = String::from_utf8(output.expect("loadgen-node starts").stdout).expect("text");
    let (_, round) = text.trim_end().rsplit_once(' ').expect("a round");
    round.to_owned()
}

/// Returns the path of a table of benchmarks in which round v5.0 has the seeds of the program's
/// LoadGen. With it, benchmarks that left the suite can be run.
pub fn table_of_v5_0() -> &'static Path {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let seeds = |name: &str| {
            let (_, after) = TABLE.split_once(&format!("\nname = \"{name}\"\n")).expect("a round");
            after.lines().find(|line| line.starts_with("seeds = ")).expect("its seeds").to_owned()
        };
        let (of_v5_0, own) = (seeds("v5.0"), seeds(&own_round()));
        let table = TABLE.replace(&of_v5_0, "@seeds@").replace(&own, &of_v5_0);
        let path = program("loadgen-node").with_file_name("table-of-v5.0.toml");
        std::fs::write(&path, table.replace("@seeds@", &own)).expect("writes");
        path
    });
    &PATH
}
