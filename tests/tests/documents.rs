//! Runs the commands of the documents, and follows their links.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use e2e::{ports::free_address, process::program, side_by_side};
use serde::Deserialize;

/// Beginning of each script. Programs in the background end with the script. `is_up` waits for the
/// ready file of a node, so that the next command finds the node ready.
const PROLOGUE: &str = r#"
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
is_up() { for _ in $(seq 600); do [ -s "$1" ] && return; sleep 0.1; done; exit 9; }
"#;

/// Number of documents whose commands run at the same time. Most of their time is waiting.
const AT_ONCE: usize = 3;

/// Rules for running the commands of a document; the head of `tests/documents/commands.toml`
/// explains the keys.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Document {
    after: BTreeMap<String, Vec<String>>,
    files: BTreeMap<String, String>,
    shows: BTreeMap<String, String>,
    in_place: BTreeMap<String, String>,
    not_run: BTreeMap<String, String>,
    may_be_invalid: Vec<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// Returns the code blocks of a document, each as its language and its text.
fn blocks(name: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join(name)).expect("a document");
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.map(|(language, block)| (language.into(), block.into())).collect()
}

/// Returns the commands of a document as they are written, after the commands of other documents
/// that it requires.
fn commands(name: &str, document: &Document) -> String {
    let mut commands = String::new();
    for (other, wanted) in &document.after {
        let blocks = blocks(other);
        for words in wanted {
            let found = blocks.iter().find(|(_, block)| block.starts_with(words));
            commands += &found.unwrap_or_else(|| panic!("{other} has no block {words:?}")).1;
        }
    }
    let mut unused: Vec<_> = document.not_run.keys().chain(document.shows.values()).collect();
    for (language, block) in blocks(name) {
        let is_one = |words: &&String| block.starts_with(*words);
        let declared = unused.iter().position(is_one).map(|n| unused.remove(n));
        let shown = document.shows.iter().find(|(_, words)| is_one(words));
        match (language.as_str(), declared, shown) {
            (_, _, Some((file, _))) => commands += &format!("cat >{file} <<'END'\n{block}END\n"),
            ("sh", None, _) => commands += &block,
            _ => {}
        }
    }
    assert!(unused.is_empty(), "{name} has none of what is declared for it: {unused:?}");
    commands
}

/// Returns the shell script that runs a document's commands.
fn script(name: &str, documents: &BTreeMap<String, Document>) -> String {
    let document = &documents[name];
    let mut commands = commands(name, document);
    for (from, to) in &document.in_place {
        assert!(commands.contains(from), "{name} has nothing to put {to:?} in place of: {from:?}");
        commands = commands.replace(from, to);
    }
    for (from, to) in document.after.keys().flat_map(|other| &documents[other].in_place) {
        commands = commands.replace(from, to);
    }
    for place in ["{A}", "{B}", "{C}", "{D}"] {
        commands = commands.replace(place, &free_address().replace("127.0.0.1:", ""));
    }
    for words in &document.may_be_invalid {
        assert!(commands.contains(words), "{name} has no command {words:?}");
    }
    let mut script = PROLOGUE.to_owned();
    // A command may go over several lines.
    for (number, command) in commands.replace("\\\n", " ").lines().enumerate() {
        if command.contains(" --listen ") && command.ends_with('&') {
            // The node writes this file when it accepts calls.
            let ready = format!("ready-{number}.json");
            script += &format!("NETDIV_READY_FILE={ready} {command}\nis_up {ready}\n");
        } else if document
            .may_be_invalid
            .iter()
            .any(|words| command.trim_start().starts_with(words))
        {
            script += &format!("{command} || [ $? = 1 ]\n");
        } else {
            script += &format!("{command}\n");
        }
    }
    script
}

#[test]
fn the_commands_of_the_documents_run_as_they_are_written() {
    let declared =
        fs::read_to_string(repository().join("tests/documents/commands.toml")).expect("a table");
    let documents: BTreeMap<String, Document> = toml::from_str(&declared).expect("documents");
    assert!(documents.len() >= 5);
    let mut reasons = documents.values().flat_map(|document| document.not_run.values());
    assert!(reasons.all(|reason| !reason.trim().is_empty()), "what is not run has a reason");
    let programs = program("sut-node");
    let programs = programs.parent().expect("a folder").display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let names: Vec<_> = documents.keys().collect();
    let run = |name: &&String| run_document(name, &documents, &path);
    let ran = side_by_side(AT_ONCE, &names, run);
    let failed: Vec<_> = names.iter().zip(ran).filter(|(_, ran)| ran.is_none()).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// Runs a document's commands in a temporary folder.
fn run_document(name: &str, documents: &BTreeMap<String, Document>, path: &str) {
    let document = &documents[name];
    let folder = tempfile::tempdir().expect("a folder");
    let others = document.after.keys().map(|other| &documents[other]);
    for (file, source) in others.chain([document]).flat_map(|document| &document.files) {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        symlink(repository().join(source), file).expect("a link");
    }
    let script = script(name, documents);
    let began = Instant::now();
    let done = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .process_group(0)
        .output()
        .expect("there is a shell");
    println!("{name}: {:.1} s", began.elapsed().as_secs_f64());
    let said = String::from_utf8_lossy(&done.stdout);
    let log = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {}\n{script}\n{said}\n{log}", done.status);
}

/// Returns the anchor that a link to a heading names.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
    kept.collect::<String>().replace(' ', "-")
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().expect("a kind").is_dir() {
            if !name.starts_with('.') && !["target", "out"].contains(&&*name) {
                pages(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

#[test]
fn the_links_of_the_documents_lead_somewhere() {
    let mut found = Vec::new();
    pages(&repository(), &mut found);
    let mut dead = Vec::new();
    for page in &found {
        let text = fs::read_to_string(page).expect("a page");
        let prose = text.split("```").step_by(2).collect::<String>();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (path, to) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if path.is_empty() { page.clone() } else { page.with_file_name("").join(path) };
            let leads = target.exists()
                && (to.is_empty() || {
                    let text = fs::read_to_string(&target).unwrap_or_default();
                    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
                    headings
                        .map(|line| anchor(line.trim_start_matches('#').trim()))
                        .any(|a| a == to)
                });
            if !leads {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(found.len() > 20 && dead.is_empty(), "{}", dead.join("\n"));
}
