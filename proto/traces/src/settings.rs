//! Where traces go, and how many.

use http::Uri;

/// One batch in a hundred.
const RATIO: f64 = 0.01;

/// Where traces go, and how many.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The collector.
    pub(crate) url: String,
    /// Of all traces, how many are sent: from 0 to 1.
    pub(crate) ratio: f64,
}

/// Why that makes no sense.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// Not the URL of a collector.
    #[error(
        "--otlp `{0}`: write http://HOST:PORT, the gRPC port of an OTLP collector; where TLS is needed, name a collector on this \
         machine that forwards what it gets"
    )]
    Url(String),
    /// Not a part of all.
    #[error("--otlp-ratio {0}: must be from 0 to 1")]
    Ratio(f64),
    /// A part of nothing.
    #[error("--otlp-ratio needs --otlp, the URL of a collector")]
    RatioAlone,
}

impl Settings {
    /// What was asked for; `None` where there are to be no traces.
    pub fn new(url: Option<&str>, ratio: Option<f64>) -> Result<Option<Self>, SettingsError> {
        let Some(url) = url else {
            return if ratio.is_some() { Err(SettingsError::RatioAlone) } else { Ok(None) };
        };
        let is_collector = |uri: &Uri| {
            uri.scheme_str() == Some("http")
                && uri.port_u16().is_some_and(|port| port > 0)
                && uri.host().is_some_and(|host| !host.is_empty())
                && uri.path_and_query().is_none_or(|path| path == "/")
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
        };
        if !url.parse().is_ok_and(|uri| is_collector(&uri)) {
            return Err(SettingsError::Url(url.escape_debug().to_string()));
        }
        let ratio = ratio.unwrap_or(RATIO);
        if !(0.0..=1.0).contains(&ratio) {
            return Err(SettingsError::Ratio(ratio));
        }
        Ok(Some(Self { url: url.into(), ratio }))
    }

    /// The same with all traces.
    pub fn all(self) -> Self {
        Self { ratio: 1.0, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_has_a_host_and_a_port() {
        let of = |url| Settings::new(Some(url), None);
        for url in ["http://127.0.0.1:4317", "http://collector:4317/", "http://[::1]:1"] {
            assert_eq!(of(url), Ok(Some(Settings { url: url.into(), ratio: 0.01 })));
        }
        for url in [
            "",
            "collector",
            "collector:4317",
            "http://collector",
            "http://:4317",
            "http://a:0",
            "https://a:4317",
            "http://a:4317/v1/traces",
            "http://a:99999",
            "http://me:secret@a:4317",
            "ftp://a:1",
            "http://a b:1",
        ] {
            assert_eq!(of(url), Err(SettingsError::Url(url.into())));
        }
    }

    #[test]
    fn a_ratio_is_a_part_of_something() {
        let of = |url, ratio| Settings::new(url, Some(ratio));
        assert_eq!(of(None, 0.5), Err(SettingsError::RatioAlone));
        for ratio in [0.0, 0.5, 1.0] {
            assert_eq!(of(Some("http://a:1"), ratio).unwrap().unwrap().ratio, ratio);
        }
        for ratio in [-0.1, 1.1, f64::INFINITY] {
            assert_eq!(of(Some("http://a:1"), ratio), Err(SettingsError::Ratio(ratio)));
        }
        assert!(of(Some("http://a:1"), f64::NAN).is_err());
        assert_eq!(Settings::new(None, None), Ok(None));
    }
}
