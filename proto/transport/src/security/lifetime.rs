//! Period in which a certificate is valid.

use std::{fmt, time::Duration};

use rustls::pki_types::CertificateDer;
use time::OffsetDateTime;

/// Maximum lifetime of a certificate: ten years. An authority whose key is kept has this lifetime.
pub(crate) const LONGEST: Duration = Duration::from_secs(3650 * 86_400);

/// Minimum lifetime of a certificate.
const SHORTEST: Duration = Duration::from_secs(60);

/// Time by which the validity of a certificate begins before its creation, because the clocks of
/// two machines may differ.
const CLOCKS: Duration = Duration::from_secs(3600);

/// Period in which a certificate is valid. Displayed as the day of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime {
    pub(crate) begin: OffsetDateTime,
    pub(crate) end: OffsetDateTime,
}

impl Lifetime {
    /// Returns the period of a certificate that is created now and expires after `length`. `None`
    /// if `length` is not between a minute and ten years.
    pub(crate) fn of_new(length: Duration) -> Option<Self> {
        let now = OffsetDateTime::now_utc();
        (SHORTEST..=LONGEST)
            .contains(&length)
            .then(|| Self { begin: now - CLOCKS, end: now + length })
    }

    /// Reads the period from a certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Result<Self, String> {
        let (_, certificate) =
            x509_parser::parse_x509_certificate(certificate).map_err(|error| error.to_string())?;
        let validity = certificate.validity();
        Ok(Self { begin: validity.not_before.to_datetime(), end: validity.not_after.to_datetime() })
    }

    /// Returns the reason why the certificate is not valid now; `None` if it is valid.
    pub(crate) fn fault(&self) -> Option<String> {
        let now = OffsetDateTime::now_utc();
        if now > self.end {
            Some(format!("it expired on {self}"))
        } else if now < self.begin {
            Some(format!("it is not valid before {}; is this machine's clock right?", self.begin))
        } else {
            None
        }
    }

    /// Returns true if the certificate expires within this time.
    pub(crate) fn ends_within(&self, time: Duration) -> bool {
        OffsetDateTime::now_utc() + time > self.end
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.end.date().fmt(f)
    }
}
