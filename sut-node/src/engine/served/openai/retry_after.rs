//! The header `Retry-After` (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, header};

/// Returns the pause that a server asks for, as seconds or as a date. A past date means no pause. A
/// date is compared with the response's own date, if it has one, because clocks differ. The maximum
/// of several values counts. Invalid values are ignored.
pub(super) fn pause(headers: &HeaderMap) -> Option<Duration> {
    let now = values(headers, header::DATE).find_map(|text| httpdate::parse_http_date(text).ok());
    let now = now.unwrap_or_else(SystemTime::now);
    values(headers, header::RETRY_AFTER).filter_map(|text| time(text, now)).max()
}

fn values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok()).map(str::trim)
}

fn time(text: &str, now: SystemTime) -> Option<Duration> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that overflows the type counts as its maximum.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn asked(values: &[&'static str]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, HeaderValue::from_static(DATE));
        for value in values {
            headers.append(header::RETRY_AFTER, HeaderValue::from_static(value));
        }
        pause(&headers).map(|time| time.as_secs())
    }

    #[test]
    fn seconds_and_all_forms_of_a_date_are_read() {
        for (value, seconds) in [
            ("7", 7),
            (" 7\t", 7),
            ("007", 7),
            ("0", 0),
            ("18446744073709551615", u64::MAX),
            ("99999999999999999999999", u64::MAX),
            ("Sun, 06 Nov 1994 08:49:44 GMT", 7),
            (" Sun, 06 Nov 1994 08:49:44 GMT ", 7),
            ("Sunday, 06-Nov-94 08:49:44 GMT", 7),
            ("Sun Nov  6 08:49:44 1994", 7),
            ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ] {
            assert_eq!(asked(&[value]), Some(seconds), "{value}");
        }
        assert!(asked(&["Fri, 31 Dec 9999 23:59:59 GMT"]) > Some(1 << 30));
    }

    #[test]
    fn of_several_values_the_longest_counts_and_garbage_does_not() {
        for value in
            ["", "soon", "-1", "+1", "1.5", "7 s", "0x7", "1, 2", "Sun, 99 Nov 1994 08:49:37 GMT"]
        {
            assert_eq!(asked(&[value]), None, "{value}");
        }
        assert_eq!(asked(&[]), None);
        assert_eq!(asked(&["1", "soon", "3", "Sun, 06 Nov 1994 08:49:39 GMT"]), Some(3));
    }

    #[test]
    fn a_date_is_compared_with_the_clock_where_the_answer_has_none() {
        let later = SystemTime::now() + Duration::from_secs(100);
        let value = HeaderValue::from_str(&httpdate::fmt_http_date(later)).unwrap();
        let headers = [(header::RETRY_AFTER, value)].into_iter().collect();
        let asked = pause(&headers).unwrap().as_secs();
        assert!((50..=100).contains(&asked), "{asked}");
    }
}
