//! Files of certificates, their lifetimes, and refused names.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tempfile::TempDir;

use super::CertificateSet;
use crate::security::lifetime::Lifetime;

const DAY: Duration = Duration::from_secs(86_400);

fn set(hosts: &[&str], clients: &[&str]) -> CertificateSet {
    let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    CertificateSet {
        hosts: names(hosts),
        clients: names(clients),
        valid_for: DAY,
        keep_authority: false,
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_kept_authority_outlives_its_certificates_and_files_are_left_alone() {
    let kept = folder();
    let first = CertificateSet { keep_authority: true, ..set(&["a"], &["client"]) };
    let written = first.write(kept.path()).unwrap();
    assert_eq!(written, ["ca.pem", "ca.key", "a.pem", "a.key", "client.pem", "client.key"]);
    let ends_within = |name: &str, time| {
        let certificate = CertificateDer::from_pem_file(kept.path().join(name)).unwrap();
        Lifetime::of(&certificate).unwrap().ends_within(time)
    };
    assert!(ends_within("a.pem", 2 * DAY) && !ends_within("ca.pem", 3649 * DAY));
    for name in ["ca.key", "a.key", "client.key"] {
        assert_eq!(mode(kept.path().join(name)), 0o600);
    }
    let before = fs::read(kept.path().join("a.pem")).unwrap();
    let error = set(&["b"], &[]).write(kept.path()).unwrap_err().to_string();
    assert!(error.contains("ca.pem exists already"), "{error}");
    assert_eq!(fs::read(kept.path().join("a.pem")).unwrap(), before);
    assert!(!kept.path().join("b.pem").exists());
}

#[test]
fn files_that_cannot_all_be_written_leave_none() {
    let names = |folder: &TempDir| {
        let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    let all = set(&["a"], &["client"]);
    for obstacle in
        ["ca.pem.part", "a.pem.part", "a.key.part", "client.pem.part", "client.key.part"]
    {
        let folder = folder();
        // A folder with the name of a file makes writing the file fail.
        fs::create_dir(folder.path().join(obstacle)).unwrap();
        let error = all.write(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains(obstacle), "{error}");
        assert_eq!(names(&folder), [obstacle]);
        fs::remove_dir(folder.path().join(obstacle)).unwrap();
        // A file that a killed process left behind is replaced.
        fs::write(folder.path().join(obstacle), "half a fi").unwrap();
        all.write(folder.path()).unwrap();
        assert_eq!(names(&folder), ["a.key", "a.pem", "ca.pem", "client.key", "client.pem"]);
        assert_eq!(mode(folder.path().join("a.key")), 0o600);
    }
}

#[test]
fn lifetimes_out_of_range_are_refused() {
    for length in [Duration::ZERO, Duration::from_secs(59), 3651 * DAY, Duration::MAX] {
        let set = CertificateSet { valid_for: length, ..set(&["a"], &[]) };
        let error = set.write(folder().path()).unwrap_err().to_string();
        assert!(error.contains("a minute to ten years"), "{error}");
    }
}

#[test]
fn names_that_would_collide_or_leave_the_folder_are_refused() {
    let refused = |hosts: &[&str], clients: &[&str]| {
        set(hosts, clients).write(folder().path()).unwrap_err().to_string()
    };
    for (hosts, clients) in [
        (&["a", "a"][..], &[][..]),
        (&["client"], &["client"]),
        (&["ca"], &[]),
        (&["host:50051"], &[]),
        (&[], &["../x"]),
        (&[], &[""]),
        (&[], &["\u{1b}[2J"]),
    ] {
        let error = refused(hosts, clients);
        assert!(error.contains("not a valid name for a certificate"), "{error}");
    }
    assert!(refused(&["höst"], &[]).contains("cannot create a certificate for"));
}
