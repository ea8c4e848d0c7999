//! Addresses of pages on other pages.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

/// Name of a page in the folder of its run or sweep.
pub(crate) const PAGE: &str = "report.html";

/// Returns the address of a run's page for the page `on`, or of `other` in its folder if it has no
/// page. The address is relative if the run is inside the folder of `on`.
pub(crate) fn link(run: &Path, other: &str, on: &Path) -> String {
    let page = run.join(PAGE);
    let target = if page.exists() { page } else { run.join(other) };
    let target = target.canonicalize().unwrap_or(target);
    let base = on.parent().and_then(|folder| folder.join(".").canonicalize().ok());
    let inside = base.and_then(|base| target.strip_prefix(base).ok());
    let mut link = String::from(if inside.is_some() { "./" } else { "" });
    for byte in inside.unwrap_or(&target).as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => link.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => link.push(char::from(*byte)),
            byte => link += &format!("%{byte:02X}"),
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_and_escaped() {
        let folder = tempfile::tempdir().unwrap();
        let (base, elsewhere) = (folder.path(), tempfile::tempdir().unwrap());
        let run = base.join("rate 100%:é");
        std::fs::create_dir(&run).unwrap();
        let link = |on: &Path| super::link(&run, "", &on.join("index.html"));
        assert_eq!(link(base), "./rate%20100%25%3A%C3%A9");
        std::fs::write(run.join(PAGE), "").unwrap();
        assert_eq!(link(base), "./rate%20100%25%3A%C3%A9/report.html");
        assert!(link(elsewhere.path()).starts_with('/'));
    }
}
