//! The git revision of a program's sources, for its build script.

use std::{env, path::Path, process::Command};

/// Variable with the revision of sources that are no clone, such as those of an image.
const REVISION: &str = "NETDIV_REVISION";

/// Sets `NETDIV_VERSION`, which `--version` prints: the version and the revision, from the variable
/// [`REVISION`] or, if the folder `top` is a clone, from git. Only edits of `parts` count as
/// changes. Makes Cargo run the build script again after a commit and after an edit of a part.
pub(crate) fn state(top: &Path, parts: &[&str]) {
    for part in parts {
        println!("cargo::rerun-if-changed={}", top.join(part).display());
    }
    println!("cargo::rerun-if-env-changed={REVISION}");
    let given = env::var(REVISION).ok().filter(|revision| !revision.is_empty());
    let revision = given.or_else(|| revision(top, parts));
    let revision = revision.as_deref().unwrap_or("unknown revision");
    println!("cargo::rustc-env=NETDIV_VERSION={} ({revision})", env!("CARGO_PKG_VERSION"));
}

fn revision(top: &Path, parts: &[&str]) -> Option<String> {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        let output = git.arg("--no-optional-locks").arg("-C").arg(top).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).ok())?
    };
    let head = ["rev-parse", "--show-prefix", "--git-path", "logs/HEAD", "--short=10", "HEAD"];
    let known = git(&head)?;
    // A folder inside another repository, such as one of submissions, has no revision of its own.
    let ["", log, revision] = known.lines().collect::<Vec<_>>()[..] else { return None };
    let log = top.join(log);
    // Cargo would run the script in each build for a missing file.
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    let edits = git(&[&["status", "--porcelain", "--"], parts].concat())?;
    Some(format!("{revision}{}", if edits.is_empty() { "" } else { " with changes" }))
}
