//! Files that users, submissions or data sets name. Only regular files are read: a pipe could block
//! a reader forever, and a device could provide endless bytes.

use std::{
    fs::{self, File, FileType},
    io::{self, Read as _, Write as _},
    os::{
        fd::AsRawFd as _,
        unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{MemfdFlags, OFlags, memfd_create};
use sha2::{Digest as _, Sha256};

use crate::{
    resources::{memory, text},
    words::refuse_dates,
};

/// Maximum length of a text, in bytes: settings, tables, certificates, manifests.
pub const TEXT_BYTES: u64 = 64 << 20;

/// Opens a regular file for reading. Follows links.
pub fn open(path: &Path) -> io::Result<File> {
    // Checks the type first, because opening a device may have effects. A pipe may replace the file
    // after the check, so opening must not block.
    regular(fs::metadata(path)?.file_type())?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Refuses anything but a regular file of at most `most_bytes` bytes, on behalf of a library that
/// opens it by its path.
pub fn check(path: &Path, most_bytes: u64) -> io::Result<()> {
    within(open(path)?.metadata()?.len(), most_bytes)
}

/// Reads a regular file of at most `most_bytes` bytes. Fails if there is too little memory.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    within(length, most_bytes)?;
    memory::check(length)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    // A file may grow while it is read, and some files of the system report a length of zero.
    let most_bytes = most_bytes.min(length.max(TEXT_BYTES));
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    within(bytes.len() as u64, most_bytes)?;
    Ok(bytes)
}

/// Reads a text that a program wrote, without changing it.
pub fn read_to_string(path: &Path, most_bytes: u64) -> io::Result<String> {
    text::of_utf8(read(path, most_bytes)?).map_err(invalid)
}

/// Reads a text of at most [`TEXT_BYTES`] that a user wrote, and decodes it with [`text::decode`].
pub fn read_text(path: &Path) -> io::Result<String> {
    read_short_text(path, TEXT_BYTES)
}

/// Reads the text of a TOML file like [`read_text`]. Fails on a date or a time without quotes.
pub fn read_toml(path: &Path) -> io::Result<String> {
    let text = read_text(path)?;
    refuse_dates(&text).map_err(invalid)?;
    Ok(text)
}

/// Reads a text of at most `most_bytes` bytes that a user wrote, and decodes it with
/// [`text::decode`].
pub fn read_short_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    text::decode(read(path, most_bytes)?).map_err(invalid)
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Returns the SHA-256 of a regular file, in hex, without reading the file into memory.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut open(path)?, &mut hash)?;
    Ok(hex::encode(hash.finalize()))
}

/// Returns the SHA-256 of concatenated parts, in hex.
pub fn sha256_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    parts.into_iter().for_each(|part| hash.update(part));
    hex::encode(hash.finalize())
}

fn within(bytes: u64, most_bytes: u64) -> io::Result<()> {
    if bytes <= most_bytes {
        return Ok(());
    }
    Err(io::Error::other(format!("it has more than {most_bytes} bytes, which is the maximum")))
}

fn regular(kind: FileType) -> io::Result<()> {
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "something else",
    };
    Err(io::Error::other(format!("it is {what}; name a regular file")))
}

/// Path under which a library reads a text after [`text::decode`].
#[derive(Debug)]
pub struct PlainText {
    path: PathBuf,
    /// Decoded text in memory, if it differs from the file.
    _copy: Option<File>,
}

impl PlainText {
    /// Reads and decodes a file.
    ///
    /// # Errors
    ///
    /// Fails like [`read_text`].
    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = read(path, TEXT_BYTES)?;
        let plain = text::decode(bytes.clone()).map_err(invalid)?;
        if plain.as_bytes() == bytes {
            return Ok(Self { path: path.into(), _copy: None });
        }
        let mut copy = File::from(memfd_create("text", MemfdFlags::CLOEXEC)?);
        copy.write_all(plain.as_bytes())?;
        Ok(Self { path: format!("/proc/self/fd/{}", copy.as_raw_fd()).into(), _copy: Some(copy) })
    }

    /// Returns the path, which is valid as long as this value lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_never_ends_is_refused_at_once_by_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for (path, what) in [
            (pipe.as_path(), "it is a pipe"),
            (&socket, "it is a socket"),
            (&link, "it is a device"),
            (Path::new("/dev/zero"), "it is a device"),
            (folder.path(), "it is a folder"),
            (Path::new("/nowhere"), "No such file"),
        ] {
            for error in [
                open(path).err().unwrap(),
                check(path, u64::MAX).unwrap_err(),
                read(path, u64::MAX).unwrap_err(),
                read_text(path).unwrap_err(),
                sha256(path).unwrap_err(),
            ] {
                assert!(error.to_string().contains(what), "{}: {error}", path.display());
            }
        }
    }

    #[test]
    fn a_regular_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "twelve bytes").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read_to_string(&link, 12).unwrap(), "twelve bytes");
        assert!(read(&path, 11).unwrap_err().to_string().contains("more than 11 bytes"));
        assert!(check(&path, 11).unwrap_err().to_string().contains("more than 11 bytes"));
        check(&path, 12).unwrap();
        // printf 'twelve bytes' | sha256sum
        assert_eq!(
            sha256(&link).unwrap(),
            "d4ce2c527afe674c7a086bd74e256019e3d5dcdb31eeb6eaadef5ada8c4383b9"
        );
        fs::write(&path, [0xff]).unwrap();
        assert!(read_text(&path).unwrap_err().to_string().contains("not text"));
        // The system reports a length of zero for this file.
        assert!(read_text(Path::new("/proc/self/status")).unwrap().contains("VmSize"));
    }

    #[test]
    fn a_file_that_does_not_fit_into_memory_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 42).unwrap();
        let error = read(&path, u64::MAX).unwrap_err().to_string();
        assert!(error.contains("4398046511104 bytes of memory are needed"), "{error}");
    }

    #[test]
    fn a_library_reads_a_plain_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user.conf");
        for written in ["a = 1\n", "\u{feff}a = 1\r\n", "a\u{a0}= 1\r"] {
            fs::write(&path, written).unwrap();
            let plain = PlainText::read(&path).unwrap();
            // Reads twice: each opening begins at the start.
            for _ in 0..2 {
                assert_eq!(fs::read_to_string(plain.path()).unwrap(), "a = 1\n", "{written:?}");
            }
            assert_eq!(plain.path() == path, written == "a = 1\n");
        }
    }
}
