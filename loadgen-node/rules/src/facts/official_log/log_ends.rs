//! Check of the ends of LoadGen's logs, because LoadGen does not check its writes.

use std::{
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use super::LogError;
use crate::{
    input::files,
    tree::{ACCURACY_LOG, DETAIL, SUMMARY},
};

/// Number of bytes to read at the end of a log.
const END_BYTES: u64 = 64;

/// Checks that each log of a finished test has the usual end. After a failed write LoadGen appends
/// nothing more to a log, so a log without its end is incomplete.
pub fn check_ends(folder: &Path) -> Result<(), LogError> {
    for (name, ends) in [
        (SUMMARY, &["encountered during test.\n", "encountered. See detailed log.\n"][..]),
        (DETAIL, &["}\n"][..]),
        (ACCURACY_LOG, &["]\n"][..]),
    ] {
        let path = folder.join(name);
        let end = end(&path).map_err(|error| LogError::new(&path, error))?;
        if !ends.iter().any(|whole| end.ends_with(whole.as_bytes())) {
            return Err(LogError::new(&path, CUT));
        }
    }
    Ok(())
}

const CUT: &str = "its end is missing: the system did not store everything that LoadGen wrote. Check the free space of that \
                   file system (`df -h`, `df -i`) and the disk for errors, and run again";

fn end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = files::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
    let mut end = Vec::new();
    file.take(END_BYTES).read_to_end(&mut end)?;
    Ok(end)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_log_that_is_cut_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name, text: &str| fs::write(folder.path().join(name), text).unwrap();
        for summary in [
            "…\n\nNo warnings encountered during test.\n\nNo errors encountered during test.\n",
            "…\n\n1 warning encountered. See detailed log.\n\n2 ERRORS encountered. See detailed log.\n",
        ] {
            write(SUMMARY, summary);
            write(DETAIL, ":::MLLOG {\"key\": \"a\", \"metadata\": {}}\n");
            write(ACCURACY_LOG, "[\n]\n");
            check_ends(folder.path()).unwrap();
            for (name, cut) in
                [(SUMMARY, "…\n\nNo errors enc"), (DETAIL, ":::MLLOG {\"key\""), (ACCURACY_LOG, "")]
            {
                let whole = fs::read_to_string(folder.path().join(name)).unwrap();
                write(name, cut);
                let error = check_ends(folder.path()).unwrap_err().to_string();
                assert!(error.contains(name) && error.contains("its end is missing"), "{error}");
                write(name, &whole);
            }
        }
        fs::remove_file(folder.path().join(SUMMARY)).unwrap();
        check_ends(folder.path()).unwrap_err();
    }
}
