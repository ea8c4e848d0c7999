//! Files in ONNX format, loaded by rten, and their external data: bytes of tensors in files beside
//! the model. Exporters write it for models that are too large for one file.

use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Component, Path, PathBuf},
};

use netdiv_node_common::{
    resources::{companion::relative, files, memory},
    sanitise::sanitise,
};
use rten::{Model, ModelOptions};
use rten_onnx::onnx::{DataLocation, GraphProto, ModelProto, StringStringEntryProto, TensorProto};
use sha2::{Digest as _, Sha256};

use crate::{engine::settings::unreadable, ground::error::EngineError};

/// Name and version of the runtime that runs models in ONNX format.
pub(super) const RTEN: &str = "rten 0.27";

/// A model that was loaded from a file in ONNX format.
pub(super) struct OnnxFile {
    pub(super) model: rten::Model,
    pub(super) path: String,
    /// SHA-256 of the file's bytes and external data, in hex.
    pub(super) sha256: String,
}

impl OnnxFile {
    pub(super) fn read(path: &Path) -> Result<Self, EngineError> {
        match files::read(path, u64::MAX) {
            Ok(bytes) => Self::load(path, bytes),
            Err(error) => Err(unreadable(path, error)),
        }
    }

    /// Loads a model that is part of the program.
    pub(super) fn embedded(name: &str, bytes: &[u8]) -> Result<Self, EngineError> {
        Self::load(format!("{name} (embedded)").as_ref(), bytes.to_vec())
    }

    fn load(path: &Path, bytes: Vec<u8>) -> Result<Self, EngineError> {
        let (path, loaded) = (path.display().to_string(), load(path, bytes));
        let (model, sha256) = loaded.map_err(|why| {
            EngineError::Start(format!("{path} cannot be loaded as an ONNX model: {why}"))
        })?;
        Ok(Self { model, path, sha256 })
    }

    /// Returns the error for a model that the engine does not support.
    pub(super) fn unsupported(&self, why: impl Display) -> EngineError {
        EngineError::unsupported(&self.path, why)
    }
}

/// Loads a model from `bytes`, and its external data from files whose names are relative to the
/// model's path. Returns the model and a SHA-256 in hex. The SHA-256 covers the model's bytes,
/// followed by those of each data file in the order of the files' names.
fn load(path: &Path, bytes: Vec<u8>) -> Result<(Model, String), String> {
    let mut digest = Sha256::new_with_prefix(&bytes);
    let mut options = ModelOptions::with_all_ops();
    let model = gather(path, bytes, &mut options, &mut digest)?;
    let model = options.load(model).map_err(|error| error.to_string())?;
    Ok((model, hex::encode(digest.finalize())))
}

/// Passes the external data of each tensor to rten under a separate name, and returns the model
/// with these names. Updates `digest` with the data files. Under the files' names, rten refuses
/// many extensions, and offsets that do not suit a tensor's type.
fn gather(
    path: &Path,
    bytes: Vec<u8>,
    options: &mut ModelOptions,
    digest: &mut Sha256,
) -> Result<Vec<u8>, String> {
    // rten refuses a file that is not a model.
    let Ok(mut model) = ModelProto::parse_buf(&bytes) else { return Ok(bytes) };
    let mut tensors = Vec::new();
    if let Some(graph) = &mut model.graph {
        add_external(graph, &mut tensors);
    }
    if tensors.is_empty() {
        return Ok(bytes);
    }
    let mut by_file: BTreeMap<PathBuf, Vec<_>> = BTreeMap::new();
    for (number, tensor) in tensors.into_iter().enumerate() {
        by_file.entry(file(tensor)?).or_default().push((format!("{number}.data"), tensor));
    }
    for (file, tensors) in by_file {
        let at = relative(path, &file).map_err(|error| error.to_string())?;
        let data = files::read(&at, u64::MAX).map_err(|error| {
            let (file, tensor) = (sanitise(&at.display().to_string()), name(tensors[0].1));
            format!(
                "cannot read {file}, the external data of its tensor {tensor}: {error}; copy the file from the source of the model"
            )
        })?;
        digest.update(&data);
        for (name, tensor) in tensors {
            let part = part(tensor, &file, &data)?;
            tensor.external_data = whole(&name, part.len());
            options.external_data(&name, part);
        }
    }
    model.write_buf().map_err(|error| error.to_string())
}

/// Adds a graph's tensors with external data to `found`: weights and constants, including those of
/// inner graphs.
fn add_external<'a>(graph: &'a mut GraphProto, found: &mut Vec<&'a mut TensorProto>) {
    let is_external =
        |tensor: &&mut TensorProto| tensor.data_location == Some(DataLocation::EXTERNAL);
    found.extend(graph.initializer.iter_mut().filter(is_external));
    for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        found.extend(attribute.t.as_mut().filter(is_external));
        if let Some(inner) = &mut attribute.g {
            add_external(inner, found);
        }
    }
}

fn name(tensor: &TensorProto) -> String {
    sanitise(tensor.name.as_deref().unwrap_or_default())
}

/// Returns the value of `key` in a tensor's description of its external data.
fn value<'a>(tensor: &'a TensorProto, key: &str) -> Option<&'a str> {
    let entry = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
    entry?.value.as_deref()
}

/// Returns the path of the file with a tensor's data, relative to the model's folder. Fails if the
/// file is outside this folder.
fn file(tensor: &TensorProto) -> Result<PathBuf, String> {
    let location = value(tensor, "location").unwrap_or_default();
    let mut file = PathBuf::new();
    for part in Path::new(location).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => file.push(part),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(format!(
                    "the external data of its tensor {} is in {}, outside the model's folder; export the model with its data beside it",
                    name(tensor),
                    sanitise(location)
                ));
            }
        }
    }
    if file.as_os_str().is_empty() {
        return Err(format!("its tensor {} has external data without a location", name(tensor)));
    }
    Ok(file)
}

/// Returns a tensor's part of a data file. The offset defaults to 0, and the length to the rest of
/// the file.
fn part(tensor: &TensorProto, file: &Path, data: &[u8]) -> Result<Vec<u8>, String> {
    let number = |key| {
        let Some(text) = value(tensor, key) else { return Ok(None) };
        text.parse::<usize>().map(Some).map_err(|_| {
            let (name, text) = (name(tensor), sanitise(text));
            format!("its tensor {name} has the {key} {text}, which is not a number of bytes")
        })
    };
    let from = number("offset")?.unwrap_or(0);
    let to = number("length")?.map_or(data.len(), |length| from.saturating_add(length));
    let Some(bytes) = data.get(from..to) else {
        return Err(format!(
            "the external data of its tensor {} is bytes {from} to {to} of {}, which has {} bytes; copy the model and its data again",
            name(tensor),
            sanitise(&file.display().to_string()),
            data.len()
        ));
    };
    let mut part = memory::list(bytes.len()).map_err(|error| error.to_string())?;
    part.extend_from_slice(bytes);
    Ok(part)
}

/// Returns the description of external data that is a whole file, `location`.
fn whole(location: &str, bytes: usize) -> Vec<StringStringEntryProto> {
    let length = bytes.to_string();
    let entries = [("location", location), ("offset", "0"), ("length", &length)];
    let entry = |(key, value): (&str, &str)| StringStringEntryProto {
        key: Some(key.into()),
        value: Some(value.into()),
    };
    entries.map(entry).into()
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    const DIGITS: &[u8] = include_bytes!("../../../deploy/digits/digits.onnx");

    type Entries<'a> = &'a [(&'a str, &'a str)];

    /// Writes a model as `model.onnx`, with the bytes of its weights in other files. `place`
    /// receives each weight's number and bytes, and returns the model's entries about them.
    fn write_outside<'a>(
        onnx: &[u8],
        folder: &Path,
        mut place: impl FnMut(usize, &[u8]) -> Vec<(&'a str, String)>,
    ) -> PathBuf {
        let mut model = ModelProto::parse_buf(onnx).unwrap();
        for (number, tensor) in model.graph.as_mut().unwrap().initializer.iter_mut().enumerate() {
            let Some(data) = tensor.raw_data.take() else { continue };
            let data = data.into_inner();
            let entry = |(key, value): (&str, String)| StringStringEntryProto {
                key: Some(key.into()),
                value: Some(value),
            };
            tensor.external_data = place(number, &data).into_iter().map(entry).collect();
            tensor.data_location = Some(DataLocation::EXTERNAL);
        }
        let path = folder.join("model.onnx");
        fs::write(&path, model.write_buf().unwrap()).unwrap();
        path
    }

    /// Writes all weights into one file, as exporters do, after a byte that belongs to no tensor,
    /// so that offsets are odd.
    pub(in crate::engine) fn write_beside(
        onnx: &[u8],
        folder: &Path,
        file: &'static str,
    ) -> PathBuf {
        let mut all = vec![0];
        let path = write_outside(onnx, folder, |_, data| {
            let offset = all.len();
            all.extend(data);
            vec![
                ("location", file.into()),
                ("offset", offset.to_string()),
                ("length", data.len().to_string()),
            ]
        });
        fs::write(folder.join(file), all).unwrap();
        path
    }

    fn loaded(path: &Path) -> Result<String, String> {
        load(path, fs::read(path).unwrap()).map(|(_, sha256)| sha256)
    }

    #[test]
    fn the_digest_covers_the_model_and_each_data_file_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("more")).unwrap();
        let path = write_outside(DIGITS, folder.path(), |number, data| {
            // Without offset and length, the whole file counts. The file has no extension, and is
            // in a subfolder.
            let name = format!("more/{}", 9 - number);
            fs::write(folder.path().join(&name), data).unwrap();
            vec![("location", format!("./{name}"))]
        });
        let mut names: Vec<_> =
            fs::read_dir(at("more")).unwrap().map(|one| one.unwrap().path()).collect();
        names.sort();
        assert_eq!(names.len(), 9);
        let parts: Vec<_> =
            [&path].into_iter().chain(&names).map(|name| fs::read(name).unwrap()).collect();
        assert_eq!(loaded(&path), Ok(files::sha256_of(parts.iter().map(Vec::as_slice))));
        let before = loaded(&path).unwrap();
        let mut weights = fs::read(&names[0]).unwrap();
        weights[0] ^= 1;
        fs::write(&names[0], weights).unwrap();
        assert_ne!(loaded(&path).unwrap(), before);
        fs::write(&path, DIGITS).unwrap();
        assert_eq!(loaded(&path), Ok(files::sha256(&path).unwrap()), "nothing lies outside");
    }

    #[test]
    fn data_lies_beside_a_link_to_the_model_or_beside_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("blobs")).unwrap();
        let path = write_beside(DIGITS, &at("blobs"), "model.onnx_data");
        let sha256 = loaded(&path).unwrap();
        let link = at("model.onnx");
        symlink(&path, &link).unwrap();
        assert_eq!(loaded(&link), Ok(sha256.clone()));
        // A cache may store both files under other names, with links to them.
        fs::rename(at("blobs/model.onnx_data"), at("blobs/5ca1ab1e")).unwrap();
        symlink(at("blobs/5ca1ab1e"), at("model.onnx_data")).unwrap();
        assert_eq!(loaded(&link), Ok(sha256));
        fs::write(at("blobs/model.onnx_data"), "other data").unwrap();
        assert!(loaded(&link).unwrap_err().contains("belong to one file, and differ"));
    }

    #[test]
    fn data_that_is_missing_or_elsewhere_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("short.data"), [0; 3]).unwrap();
        fs::create_dir(folder.path().join("folder.data")).unwrap();
        let refused = |entries: Entries<'_>| {
            let path = write_outside(DIGITS, folder.path(), |_, _| {
                entries.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
            });
            let why = loaded(&path).unwrap_err();
            assert!(why.contains("sixteen"), "{why}");
            why
        };
        let short = ("location", "short.data");
        for (entries, words) in [
            (&[("location", "missing.data")][..], "cannot read /"),
            (&[("location", "missing.data")], "missing.data, the external data"),
            (&[("location", "missing.data")], "No such file"),
            (&[("location", "folder.data")], "it is a folder"),
            (&[("location", "../short.data")], "in ../short.data, outside the model's folder"),
            (&[("location", "a/../../short.data")], "outside the model's folder"),
            (&[("location", "/etc/passwd")], "in /etc/passwd, outside the model's folder"),
            (&[("location", "a\nb/..")], "in a\\nb/.., outside"),
            (&[("location", "")], "without a location"),
            (&[("location", ".")], "without a location"),
            (&[], "without a location"),
            (&[short, ("offset", "-1")], "the offset -1, which is not a number of bytes"),
            (&[short, ("length", "many")], "the length many, which is not a number of bytes"),
            (&[short, ("length", "4")], "bytes 0 to 4 of short.data, which has 3 bytes"),
            (&[short, ("offset", "4")], "bytes 4 to 3 of short.data"),
            (
                &[short, ("offset", "2"), ("length", "18446744073709551615")],
                "bytes 2 to 18446744073709551615 of short.data",
            ),
        ] {
            let why = refused(entries);
            assert!(why.contains(words), "{words}: {why}");
        }
        // The tensor needs more bytes than the file has.
        refused(&[short]);
    }
}
