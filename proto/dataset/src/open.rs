//! Data sets by name: embedded, generated, or paths.

use std::path::Path;

use bytes::Bytes;
use netdiv_node_common::words::PartName;

use crate::{
    error::DatasetError,
    folder::Folder,
    ids::Ids,
    joined::JoinedDataset,
    manifest::Manifest,
    npy::Npy,
    parts::{ListedPart, has_parts},
    sample::Dataset,
    sample_file::SampleFile,
    synthetic::{Synthetic, SyntheticIds},
    verified::VerifiedDataset,
};

/// Name of the demo's data set: 500 held-out handwritten digits (`deploy/digits/README.md`).
pub const DIGITS: &str = "digits";
const DIGITS_IMAGES: &[u8] = include_bytes!("../../../deploy/digits/images.npy");

/// Name of the data set of the demo's language model: 500 held-out prompts
/// (`deploy/sorting/README.md`).
pub const SORTING: &str = "sorting";
const SORTING_PROMPTS: &[u8] = include_bytes!("../../../deploy/sorting/prompts.ids");

/// Names of the data sets that are part of the program.
pub const EMBEDDED: [&str; 2] = [DIGITS, SORTING];

/// Prefixes of the names of generated data sets.
const SYNTHETIC: &str = "synthetic:";
const SYNTHETIC_IDS: &str = "synthetic-ids:";

/// Opens a data set without parts by name: `digits`, `sorting`, `synthetic:COUNTxBYTES[@SEED]`,
/// `synthetic-ids:COUNTxMIN-MAX[@SEED]`, a `.npy` file, a file of token ids ([`crate::write_ids`]),
/// or a folder. Several names, joined by `+`, open a data set whose samples have the tensors of
/// each.
pub fn open(name: &str) -> Result<Box<dyn Dataset>, DatasetError> {
    if name == DIGITS {
        let file = SampleFile::in_memory(DIGITS, Bytes::from_static(DIGITS_IMAGES));
        return Ok(Box::new(Npy::open(DIGITS.as_ref(), file)?));
    }
    if name == SORTING {
        let file = SampleFile::in_memory(SORTING, Bytes::from_static(SORTING_PROMPTS));
        return Ok(Box::new(Ids::open(SORTING.as_ref(), file)?));
    }
    if let Some(description) = name.strip_prefix(SYNTHETIC) {
        return Ok(Box::new(Synthetic::parse(name, description)?));
    }
    if let Some(description) = name.strip_prefix(SYNTHETIC_IDS) {
        return Ok(Box::new(SyntheticIds::parse(name, description)?));
    }
    let path = Path::new(name);
    if !path.exists() && name.contains('+') {
        let parts = parts(name, is_there).into_iter().map(open).collect::<Result<_, _>>()?;
        return Ok(Box::new(JoinedDataset::new(name, parts)?));
    }
    if has_parts(name) && path.exists() {
        return Err(DatasetError::HasParts(path.into()));
    }
    let data = open_path(path)?;
    Ok(match Manifest::find_beside(path)? {
        Some(manifest) => Box::new(VerifiedDataset::new(data, manifest)?),
        None => data,
    })
}

/// Opens a part of a data set that has parts ([`crate::has_parts`]). `name` is the path of the TOML
/// file that lists them.
pub fn open_part(name: &str, part: PartName) -> Result<Box<dyn Dataset>, DatasetError> {
    let listed = ListedPart::read(name.as_ref(), part)?;
    let data = open_path(&listed.file())?;
    Ok(Box::new(listed.verified(data)?))
}

fn is_there(path: &str) -> bool {
    Path::new(path).exists()
}

/// Splits a name at `+`. A path may itself contain `+`: each part is the longest existing path, or
/// else ends at the next `+`.
fn parts(name: &str, mut exists: impl FnMut(&str) -> bool) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), Some(name));
    while let Some(text) = rest {
        let ends = text.match_indices('+').map(|(end, _)| end).chain([text.len()]);
        let mut ends: Vec<_> = ends.collect();
        let next = ends[0];
        ends.retain(|end| exists(&text[..*end]));
        let end = ends.last().copied().unwrap_or(next);
        parts.push(&text[..end]);
        rest = text.get(end + 1..);
    }
    parts
}

/// Returns the name of a data set with its paths replaced. `place` returns the replacement of a
/// path, or the reason why it is unusable.
pub fn replace_paths(
    name: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let exists = |part: &str| place(part).is_ok_and(|placed| is_there(&placed));
    let parts = parts(name, exists);
    let is_word = |part: &str| {
        EMBEDDED.contains(&part) || [SYNTHETIC, SYNTHETIC_IDS].iter().any(|s| part.starts_with(s))
    };
    let placed =
        parts.into_iter().map(|part| if is_word(part) { Ok(part.to_owned()) } else { place(part) });
    Ok(placed.collect::<Result<Vec<_>, _>>()?.join("+"))
}

fn open_path(path: &Path) -> Result<Box<dyn Dataset>, DatasetError> {
    let metadata = std::fs::metadata(path)
        .map_err(|error| DatasetError::Unreadable { path: path.into(), error })?;
    if metadata.is_dir() {
        return Ok(Box::new(Folder::open(path)?));
    }
    let file = SampleFile::open(path)?;
    if Ids::is(&file) {
        return Ok(Box::new(Ids::open(path, file)?));
    }
    Ok(Box::new(Npy::open(path, file)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_name_can_be_elsewhere_and_words_stay() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("c++");
        std::fs::create_dir(&own).unwrap();
        let at = |name: &str| own.join(name).display().to_string();
        std::fs::write(at("x+y.npy"), "").unwrap();
        std::fs::write(at("z.npy"), "").unwrap();
        let placed = |name: &str| replace_paths(name, &mut |path| Ok(at(path)));
        for name in ["digits", "sorting", "synthetic:4x16@1", "synthetic-ids:4x1-9"] {
            assert_eq!(placed(name), Ok(name.to_owned()));
        }
        assert_eq!(placed("x+y.npy"), Ok(at("x+y.npy")));
        assert_eq!(placed("x+y.npy+z.npy"), Ok(format!("{}+{}", at("x+y.npy"), at("z.npy"))));
        let joined = placed("z.npy+lost.npy+synthetic:4x16").unwrap();
        assert_eq!(joined, format!("{}+{}+synthetic:4x16", at("z.npy"), at("lost.npy")));
        assert_eq!(parts(&format!("{0}+{0}", at("z.npy")), is_there), [at("z.npy"), at("z.npy")]);
        assert_eq!(
            parts(&format!("{}+{}", at("z.npy"), at("x+y.npy")), is_there),
            [at("z.npy"), at("x+y.npy")]
        );
        assert_eq!(parts("lost.npy+digits++", is_there), ["lost.npy", "digits", "", ""]);
        let lost = replace_paths("a+b", &mut |path| {
            if path == "b" { Err("b".into()) } else { Ok(at(path)) }
        });
        assert_eq!(lost, Err("b".into()));
    }
}
