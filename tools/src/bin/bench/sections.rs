//! Tables of the benchmark, and the documents that contain them.

use std::{error::Error, fs, io, path::Path, thread};

use e2e::document::Generated;

use crate::{cores, python, scaling, tokens, transports, unlike, with_loadgen};

/// Tables of one document.
#[derive(Debug)]
pub struct Section {
    document: Document,
    tables: Vec<Table>,
    is_whole: bool,
}

/// Name of a table, and the function that measures it in this number of runs.
type Table = (&'static str, fn(usize) -> Result<String, Box<dyn Error>>);

/// File name of a document, and its title.
type Document = (&'static str, Generated);

/// Document and tables of each section.
const SECTIONS: [(Document, &[Table]); 4] = [
    (
        ("benchmarks.md", Generated("Benchmarks")),
        &[
            ("transports", transports::tables),
            ("loadgen", with_loadgen::tables),
            ("growth", scaling::table),
            ("cores", cores::table),
        ],
    ),
    (
        ("benchmarks-tokens.md", Generated("Benchmarks of tokens")),
        &[
            ("tokens-offline", tokens::offline::table),
            ("tokens-peak", tokens::peak::table),
            ("tokens-added", tokens::added_latency::table),
            ("tokens-every", tokens::every_token::table),
            (tokens::served::NAME, tokens::served::table),
        ],
    ),
    (
        ("benchmarks-python.md", Generated("Benchmarks of engines in Python")),
        &[(python::NAME, python::tables)],
    ),
    (
        ("benchmarks-unlike.md", Generated("Benchmarks of nodes that differ")),
        &[("unlike", unlike::table)],
    ),
];

/// Returns the tables whose names begin with this text, or those of the document with this name.
pub fn chosen(beginning: &str) -> Result<Vec<Section>, String> {
    let of = |(document, all): (Document, &[Table])| {
        let is_chosen = |name: &str| name.starts_with(beginning) || document.0 == beginning;
        let tables: Vec<_> = all.iter().copied().filter(|(name, _)| is_chosen(name)).collect();
        let is_whole = tables.len() == all.len();
        Section { document, tables, is_whole }
    };
    let sections: Vec<_> =
        SECTIONS.into_iter().map(of).filter(|section| !section.tables.is_empty()).collect();
    if sections.is_empty() {
        let names: Vec<_> =
            SECTIONS.iter().flat_map(|(_, all)| *all).map(|(name, _)| *name).collect();
        return Err(format!(
            "no table begins with `{beginning}`; choose one of {}",
            names.join(", ")
        ));
    }
    Ok(sections)
}

impl Section {
    /// Fails, before anything is measured, if a requirement is missing or the document cannot be
    /// written into `folder`.
    pub fn check(&self, folder: Option<&Path>) -> Result<(), Box<dyn Error>> {
        if self.tables.iter().any(|(name, _)| *name == tokens::served::NAME) {
            tokens::served::python()?;
        }
        if self.tables.iter().any(|(name, _)| *name == python::NAME) {
            python::python()?;
        }
        match folder {
            Some(_) if !self.is_whole => {
                Err("only a whole section can be written as a document; omit FOLDER".into())
            }
            Some(folder) => {
                let (name, document) = self.document;
                Ok(document.check(&folder.join(name))?)
            }
            None => Ok(()),
        }
    }

    /// Measures the tables and returns them in Markdown.
    pub fn measure(&self, runs: usize) -> Result<String, Box<dyn Error>> {
        let mut text = machine(runs)?;
        for (_, table) in &self.tables {
            text = format!("{text}\n{}", table(runs)?);
        }
        Ok(text)
    }

    /// Writes the tables' document into `folder`.
    pub fn write(&self, folder: &Path, text: &str) -> io::Result<()> {
        let (name, document) = self.document;
        document.write(&folder.join(name), "make bench", text)
    }
}

fn machine(runs: usize) -> Result<String, Box<dyn Error>> {
    let cores = thread::available_parallelism()?;
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("?");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "Machine: {cores} cores, {model}, Linux {}; loopback. {runs} rounds; each runs every line once. \
         Figures are medians, with minimum and maximum in brackets. Ratios are computed within a round.\n",
        kernel.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_chosen_by_how_their_names_begin() {
        let names = |beginning| {
            let sections = chosen(beginning).unwrap();
            let names = sections.iter().flat_map(|section| &section.tables).map(|(name, _)| *name);
            (names.collect::<Vec<_>>(), sections.iter().all(|section| section.is_whole))
        };
        assert_eq!(names("").0.len(), 11);
        assert!(names("").1);
        assert_eq!(names("growth"), (vec!["growth"], false));
        assert_eq!(names("tokens-p"), (vec!["tokens-peak"], false));
        let (tokens, is_whole) = names("tokens");
        assert!(is_whole && tokens.iter().all(|name| name.starts_with("tokens-")));
        assert_eq!(
            names("benchmarks.md"),
            (vec!["transports", "loadgen", "growth", "cores"], true)
        );
        assert!(chosen("tables").unwrap_err().contains("tokens-offline"));
    }

    #[test]
    fn a_document_gets_whole_sections() {
        let part = chosen("tokens-peak").unwrap();
        let error = part[0].check(Some(Path::new("x"))).unwrap_err().to_string();
        assert!(error.contains("a whole section"), "{error}");
    }
}
