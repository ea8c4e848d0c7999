//! File descriptors, which include connections, and the limit of this process. Remedies for errors
//! of creating or writing a file.

use std::{fs::File, io};

use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

/// Remedy for exhausted descriptors.
pub const REMEDY: &str = "raise the limit of open files (`ulimit -Hn`, LimitNOFILE)";

/// Returns the number of files that this process may have open at the same time.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the soft limit, which is low for compatibility with old programs, to the hard limit.
pub fn raise_limit() -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

/// Returns true if an operation failed because this process or the system has reached its limit of
/// open files.
pub fn are_exhausted(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Checks that this process can open `count` more files, on behalf of libraries that do not report
/// a lack of descriptors.
pub fn check(count: usize) -> io::Result<()> {
    let opened: io::Result<Vec<_>> = (0..count).map(|_| File::open("/dev/null")).collect();
    opened.map(drop)
}

/// Returns advice to append to an error of creating or writing a file. It is empty for errors that
/// explain themselves.
pub fn remedy(error: &io::Error) -> String {
    let advice = match Errno::from_io_error(error) {
        _ if are_exhausted(error) => REMEDY,
        Some(Errno::NOSPC | Errno::DQUOT) => {
            "free space there: `df -h` and `df -i` show whether bytes or files are used up"
        }
        Some(Errno::FBIG) => "raise the limit of the size of files (`ulimit -f`)",
        _ => return String::new(),
    };
    format!("; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: Some(100), maximum }).unwrap();
        assert_eq!(limit(), 100);
        check(10).unwrap();
        raise_limit().unwrap();
        assert_eq!(limit(), maximum.unwrap_or(u64::MAX));
    }

    #[test]
    fn only_a_lack_of_descriptors_is_one() {
        for (error, is_one) in [
            (io::Error::from(Errno::MFILE), true),
            (Errno::NFILE.into(), true),
            (Errno::CONNABORTED.into(), false),
            (io::Error::other("no number"), false),
        ] {
            assert_eq!(are_exhausted(&error), is_one, "{error}");
        }
    }

    #[test]
    fn a_limit_that_can_be_raised_is_named() {
        for (errno, advice) in [
            (Errno::MFILE, "ulimit -Hn"),
            (Errno::NOSPC, "df -i"),
            (Errno::DQUOT, "df -i"),
            (Errno::FBIG, "ulimit -f"),
        ] {
            let text = remedy(&errno.into());
            assert!(text.starts_with("; ") && text.contains(advice), "{text}");
        }
        assert_eq!(remedy(&Errno::ACCESS.into()), "");
        assert_eq!(remedy(&io::Error::other("no number")), "");
    }
}
