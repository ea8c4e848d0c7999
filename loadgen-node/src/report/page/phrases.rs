//! Lists, dates and figures as people write them.

/// Lists items as in a sentence: "a, b and c".
pub(in crate::report) fn list<S: AsRef<str>>(items: &[S]) -> String {
    let mut text = String::new();
    for (number, item) in items.iter().enumerate() {
        text += match items.len() - number {
            _ if number == 0 => "",
            1 => " and ",
            _ => ", ",
        };
        text += item.as_ref();
    }
    text
}

/// Returns a remark as a sentence.
pub(in crate::report) fn sentence(remark: &str) -> String {
    let (first, rest) = remark.split_at_checked(1).unwrap_or_default();
    format!("{}{rest}.", first.to_uppercase())
}

/// Formats a figure with three significant digits, or as a whole number.
pub(in crate::report) fn figures(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size => format!("{value:.*}", (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize),
    }
}

/// Formats a time of RFC 3339 in UTC as people write it: "29 November 2026, 12:15 UTC". Returns
/// another text as it is.
pub(in crate::report) fn date(time: &str) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let parts = || {
        let (day, clock) = time.strip_suffix('Z')?.split_once('T')?;
        let mut day = day.splitn(3, '-');
        let (year, month, day) = (day.next()?, day.next()?, day.next()?);
        let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
        Some(format!("{} {month} {year}, {} UTC", day.parse::<u8>().ok()?, clock.get(..5)?))
    };
    parts().unwrap_or_else(|| time.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_lists_and_figures_are_as_people_write_them() {
        assert_eq!(date("2026-11-09T12:15:03.5Z"), "9 November 2026, 12:15 UTC");
        for text in ["yesterday", "2026-13-09T12:15:03Z", "2026-00-09T12:15:03Z", "TZ", "1-1-1T1Z"]
        {
            assert_eq!(date(text), text);
        }
        assert_eq!([list::<&str>(&[]), list(&["a"]), list(&["a", "b"])], ["", "a", "a and b"]);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        let values = [0.0, 0.012, 3.146, 99.97, 1234.5];
        assert_eq!(values.map(figures), ["0", "0.0120", "3.15", "100.0", "1234"]);
    }
}
