//! Kept authorities, certificates that are added, and requests: refusals and their reasons.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, SanType};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tempfile::TempDir;
use time::OffsetDateTime;

use super::{Authority, Subject, VALID_FOR, make_requests};

const DAY: Duration = Duration::from_secs(86_400);

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| String::from(*name)).collect()
}

fn subjects(hosts: &[&str], clients: &[&str]) -> Vec<Subject> {
    Subject::all(&names(hosts), &names(clients)).unwrap()
}

/// Returns a folder with an authority and its key.
fn kept() -> TempDir {
    let folder = folder();
    let authority = Authority::new_to_keep().unwrap();
    authority.certify(folder.path(), &subjects(&["a"], &["client"]), VALID_FOR).unwrap();
    folder
}

/// Returns the reason why the folder's authority cannot be used.
fn refusal(folder: &TempDir) -> String {
    Authority::open(folder.path()).map(|_| "it can").unwrap_err().to_string()
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_kept_authority_adds_certificates_and_leaves_the_others_alone() {
    let kept = kept();
    let before = fs::read(kept.path().join("a.pem")).unwrap();
    assert_eq!(mode(kept.path().join("ca.key")), 0o600);
    let authority = Authority::open(kept.path()).unwrap();
    let added = authority.certify(kept.path(), &subjects(&["b"], &["second"]), DAY).unwrap();
    assert_eq!(added, ["b.pem", "b.key", "second.pem", "second.key"]);
    assert_eq!(mode(kept.path().join("b.key")), 0o600);
    assert_eq!(fs::read(kept.path().join("a.pem")).unwrap(), before);
    let error = authority.certify(kept.path(), &subjects(&["c", "b"], &[]), DAY).unwrap_err();
    assert!(error.to_string().contains("b.pem exists already"), "{error}");
    assert!(!kept.path().join("c.pem").exists());
    // In another folder, the authority's certificate is written too, and later compared.
    let other = folder();
    let written = authority.certify(other.path(), &subjects(&["d"], &[]), DAY).unwrap();
    assert_eq!(written, ["ca.pem", "d.pem", "d.key"]);
    authority.certify(other.path(), &subjects(&["e"], &[]), DAY).unwrap();
    let stranger = Authority::open(self::kept().path());
    let error = stranger.unwrap().certify(other.path(), &subjects(&["f"], &[]), DAY).unwrap_err();
    assert!(error.to_string().contains("is the certificate of another authority"), "{error}");
}

#[test]
fn files_that_cannot_all_be_written_leave_none() {
    let names = |folder: &TempDir| {
        let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    let all = subjects(&["a"], &["client"]);
    for obstacle in
        ["ca.pem.part", "a.pem.part", "a.key.part", "client.pem.part", "client.key.part"]
    {
        let folder = folder();
        // A folder with the name of a file makes writing the file fail.
        fs::create_dir(folder.path().join(obstacle)).unwrap();
        let authority = Authority::new(DAY).unwrap();
        let error = authority.certify(folder.path(), &all, DAY).unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains(obstacle), "{error}");
        assert_eq!(names(&folder), [obstacle]);
        fs::remove_dir(folder.path().join(obstacle)).unwrap();
        // A file that a killed process left behind is replaced.
        fs::write(folder.path().join(obstacle), "half a fi").unwrap();
        authority.certify(folder.path(), &all, DAY).unwrap();
        assert_eq!(names(&folder), ["a.key", "a.pem", "ca.pem", "client.key", "client.pem"]);
        assert_eq!(mode(folder.path().join("a.key")), 0o600);
    }
}

#[test]
fn an_authority_that_cannot_sign_is_refused() {
    let (one, other) = (kept(), kept());
    let key = one.path().join("ca.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(refusal(&one).contains("chmod 600"), "{}", refusal(&one));
    fs::write(&key, fs::read(other.path().join("ca.key")).unwrap()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refusal(&one).contains("the key of another certificate"), "{}", refusal(&one));
    for garbage in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
        fs::write(&key, garbage).unwrap();
        assert!(refusal(&one).contains("ca.key cannot sign"), "{}", refusal(&one));
    }
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    fs::write(&key, encrypted).unwrap();
    assert!(refusal(&one).contains("the key is encrypted"), "{}", refusal(&one));
    fs::write(&key, "\0").unwrap();
    assert!(refusal(&one).contains("ca.key: line 1, character 1: a NUL"), "{}", refusal(&one));
    fs::remove_file(&key).unwrap();
    assert!(refusal(&one).contains("--keep-authority"), "{}", refusal(&one));
    // Certificate and key of a node replace those of the authority.
    for (from, to) in [("a.pem", "ca.pem"), ("a.key", "ca.key")] {
        fs::copy(other.path().join(from), other.path().join(to)).unwrap();
    }
    assert!(refusal(&other).contains("not an authority's certificate"), "{}", refusal(&other));
    fs::write(other.path().join("ca.pem"), "nothing").unwrap();
    assert!(refusal(&other).contains("ca.pem cannot sign"), "{}", refusal(&other));
    assert!(refusal(&folder()).contains("cannot read"), "{}", refusal(&folder()));
}

#[test]
fn certificates_do_not_outlive_their_authority() {
    let folder = folder();
    let mut own = CertificateParams::new([]).unwrap();
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    own.not_after = OffsetDateTime::now_utc() + 10 * DAY;
    let key = KeyPair::generate().unwrap();
    let write = |own: &CertificateParams| {
        fs::write(folder.path().join("ca.pem"), own.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(folder.path().join("ca.key"), key.serialize_pem()).unwrap();
        fs::set_permissions(folder.path().join("ca.key"), fs::Permissions::from_mode(0o600))
            .unwrap();
    };
    write(&own);
    let authority = Authority::open(folder.path()).unwrap();
    let all = subjects(&["a"], &[]);
    let error = authority.certify(folder.path(), &all, 11 * DAY).unwrap_err().to_string();
    assert!(error.contains("the authority expires on"), "{error}");
    authority.certify(folder.path(), &all, 9 * DAY).unwrap();
    for length in [Duration::ZERO, Duration::from_secs(59), 3651 * DAY, Duration::MAX] {
        let error = authority.certify(folder.path(), &all, length).unwrap_err().to_string();
        assert!(error.contains("a minute to ten years"), "{error}");
    }
    own.not_after = OffsetDateTime::now_utc() - DAY;
    write(&own);
    assert!(refusal(&folder).contains("it expired on"), "{}", refusal(&folder));
}

#[test]
fn a_request_gets_what_it_may_have() {
    let (kept, asked, signed) = (kept(), folder(), folder());
    let wanted = subjects(&["rack1-a", "10.0.0.3"], &["third"]);
    let written = make_requests(asked.path(), &wanted).unwrap();
    assert_eq!(written.len(), 6);
    assert_eq!(mode(asked.path().join("rack1-a.key")), 0o600);
    let requests: Vec<_> = ["rack1-a", "10.0.0.3", "third"]
        .map(|name| Subject::of_request(&asked.path().join(format!("{name}.csr"))).unwrap())
        .into();
    let words: Vec<_> = requests.iter().map(|(subject, _)| subject.words()).collect();
    let expected = [
        "rack1-a.pem for a node at rack1-a",
        "10.0.0.3.pem for a node at 10.0.0.3",
        "third.pem for a client",
    ];
    assert_eq!(words, expected);
    let authority = Authority::open(kept.path()).unwrap();
    let written = authority.sign(signed.path(), &requests, DAY).unwrap();
    assert_eq!(written[0], "ca.pem");
    assert_eq!(written[1..], expected);
    assert!(
        expected.iter().all(|words| signed.path().join(words.split(' ').next().unwrap()).exists())
    );
    assert!(authority.sign(signed.path(), &requests, DAY).is_err(), "they exist");
    let twice = [requests[0].clone(), requests[0].clone()];
    assert!(authority.sign(folder().path(), &twice, DAY).is_err());
}

#[test]
fn a_request_for_more_is_refused() {
    let folder = folder();
    let path = folder.path().join("x.csr");
    let key = KeyPair::generate().unwrap();
    let refused = |edit: &dyn Fn(&mut CertificateParams)| {
        let mut params = CertificateParams::new([String::from("host")]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        edit(&mut params);
        fs::write(&path, params.serialize_request(&key).unwrap().pem().unwrap()).unwrap();
        Subject::of_request(&path).map(|(subject, _)| subject.words())
    };
    assert_eq!(refused(&|_| {}).unwrap(), "x.pem for a node at host");
    let email = SanType::Rfc822Name("a@b".try_into().unwrap());
    type Edit<'a> = &'a dyn Fn(&mut CertificateParams);
    let cases: [(&str, Edit<'_>); 5] = [
        ("the rights of an authority", &|p| p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
        ("extended key usage", &|p| p.extended_key_usages.clear()),
        ("extended key usage", &|p| {
            p.extended_key_usages.push(ExtendedKeyUsagePurpose::CodeSigning);
        }),
        ("it names no host", &|p| p.subject_alt_names.clear()),
        ("more than DNS names", &|p| p.subject_alt_names.push(email.clone())),
    ];
    for (words, edit) in cases {
        let error = refused(edit).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    // A request with a changed letter no longer matches its signature.
    let text = fs::read_to_string(&path).unwrap();
    let place = text.len() / 2;
    let letter = if text.as_bytes()[place] == b'A' { "B" } else { "A" };
    fs::write(&path, format!("{}{letter}{}", &text[..place], &text[place + 1..])).unwrap();
    assert!(Subject::of_request(&path).is_err());
    let twice = format!("{text}{text}");
    for garbage in ["", "nothing", "-----BEGIN CERTIFICATE REQUEST-----\n", &twice] {
        fs::write(&path, garbage).unwrap();
        assert!(Subject::of_request(&path).is_err());
    }
    assert!(Subject::of_request(folder.path()).is_err());
    assert!(Subject::of_request(&folder.path().join("nowhere.csr")).is_err());
}

#[test]
fn a_certificate_has_the_key_of_its_request_of_whatever_kind() {
    let (kept, folder) = (kept(), folder());
    let path = folder.path().join("x.csr");
    for kind in
        [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_ED25519]
    {
        let key = KeyPair::generate_for(kind).unwrap();
        let mut params = CertificateParams::new([String::from("host")]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        fs::write(&path, params.serialize_request(&key).unwrap().pem().unwrap()).unwrap();
        let signed = super::tests::folder();
        let request = Subject::of_request(&path).unwrap();
        let authority = Authority::open(kept.path()).unwrap();
        authority.sign(signed.path(), &[request], DAY).unwrap();
        let text = fs::read(signed.path().join("x.pem")).unwrap();
        let der = CertificateDer::from_pem_slice(&text).unwrap();
        let (_, made) = x509_parser::parse_x509_certificate(&der).unwrap();
        assert_eq!(made.public_key().raw, rcgen::PublicKeyData::subject_public_key_info(&key));
    }
}

#[test]
fn names_that_would_collide_or_leave_the_folder_are_refused() {
    let refused = |hosts: &[&str], clients: &[&str]| {
        Subject::all(&names(hosts), &names(clients)).unwrap_err().to_string()
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
