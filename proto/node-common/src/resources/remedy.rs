//! Remedies for errors of creating or writing a file.

use std::io;

use rustix::io::Errno;

use crate::resources::descriptors;

/// Returns advice to append to an error of creating or writing a file. It is empty for errors that
/// explain themselves.
pub fn remedy(error: &io::Error) -> String {
    let advice = match Errno::from_io_error(error) {
        _ if descriptors::are_exhausted(error) => descriptors::REMEDY,
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
