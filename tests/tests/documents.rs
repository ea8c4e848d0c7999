//! What the documents tell a reader to type does what they say.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use e2e::{process::program, scrape::free_address};
use serde::Deserialize;

/// Around the commands: what was started in the background ends with the script, and a node that a command starts is up
/// before the next command comes.
const PROLOGUE: &str = r#"
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
is_up() { for _ in $(seq 600); do (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null && return; sleep 0.1; done; exit 9; }
"#;

/// How a document runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Document {
    before: String,
    files: BTreeMap<String, String>,
    in_place: toml::Table,
    not_run: BTreeMap<String, String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// The `sh` blocks of a document.
fn blocks(text: &str) -> Vec<&str> {
    let rest = text.split("```sh\n").skip(1);
    rest.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// The script that a document's commands make.
fn script(name: &str, document: &Document) -> String {
    let text = fs::read_to_string(repository().join(name)).expect("a document");
    let ports: Vec<_> = ["{A}", "{B}", "{C}", "{D}"]
        .map(|place| (place, free_address().replace("127.0.0.1:", "")))
        .into();
    let mut unused: Vec<_> = document.not_run.keys().chain(document.in_place.keys()).collect();
    let mut run = vec![document.before.clone()];
    for block in blocks(&text) {
        if let Some(words) = document.not_run.keys().find(|words| block.starts_with(*words)) {
            unused.retain(|key| *key != words);
            continue;
        }
        let mut block = block.to_owned();
        for (from, to) in &document.in_place {
            if block.contains(from) {
                unused.retain(|key| *key != from);
            }
            block = block.replace(from, to.as_str().expect("a text"));
        }
        run.push(block);
    }
    let mut script = PROLOGUE.to_owned();
    let commands = ports.iter().fold(run.concat(), |run, (place, port)| run.replace(place, port));
    // A command may go over several lines.
    for command in commands.replace("\\\n", " ").lines() {
        script += &format!("{command}\n");
        let mut words = command.split_whitespace();
        let listens = words.find(|word| *word == "--listen").and_then(|_| words.next());
        if let Some((host, port)) =
            listens.filter(|_| command.ends_with('&')).and_then(|a| a.rsplit_once(':'))
        {
            script += &format!("is_up {host} {port}\n");
        }
    }
    assert!(unused.is_empty(), "{name} has none of what is declared for it: {unused:?}");
    script
}

#[test]
fn the_commands_of_the_documents_run_as_they_are_written() {
    let declared =
        fs::read_to_string(repository().join("tests/documents/commands.toml")).expect("a table");
    let documents: BTreeMap<String, Document> = toml::from_str(&declared).expect("documents");
    assert!(documents.len() >= 5);
    let programs = program("sut-node");
    let programs = programs.parent().expect("a folder").display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    for (name, document) in &documents {
        let folder = tempfile::tempdir().expect("a folder");
        for (file, source) in &document.files {
            let link = folder.path().join(file);
            fs::create_dir_all(link.parent().expect("a folder")).expect("it can be made");
            symlink(repository().join(source), link).expect("a link");
        }
        let script = script(name, document);
        let done = Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .env("PATH", &path)
            .process_group(0)
            .output()
            .expect("there is a shell");
        let said = String::from_utf8_lossy(&done.stdout);
        let log = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{name}: {}\n{script}\n{said}\n{log}", done.status);
    }
}

/// The text of a heading as the anchor of a link.
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
