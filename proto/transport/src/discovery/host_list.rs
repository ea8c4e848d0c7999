//! Host lists as Slurm writes them: `rack[1-8,12]-gpu[01-04]`.

use std::iter;

/// Part of a host list: text, or the numbers in a pair of brackets.
#[derive(Debug)]
enum Part<'a> {
    Text(&'a str),
    Numbers(Vec<Range>),
}

/// Numbers from `first` to `last`, padded with zeros to `width` digits.
#[derive(Debug)]
struct Range {
    first: u64,
    last: u64,
    width: usize,
}

impl Range {
    fn count(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }
}

impl Part<'_> {
    fn count(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::Numbers(ranges) => ranges.iter().map(Range::count).fold(0, u64::saturating_add),
        }
    }

    fn texts(&self) -> Box<dyn Iterator<Item = String> + '_> {
        match self {
            Self::Text(text) => Box::new(iter::once((*text).to_owned())),
            Self::Numbers(ranges) => Box::new(ranges.iter().flat_map(|range| {
                let width = range.width;
                (range.first..=range.last).map(move |number| format!("{number:0width$}"))
            })),
        }
    }
}

/// Returns all hosts of a list, in an order in which the numbers of the last brackets change
/// fastest. Text may follow the last brackets, such as a domain or a port, which Slurm does not
/// allow. Fails before any host is created if the list has more than `most` hosts.
pub(super) fn expand(list: &str, most: usize) -> Result<Vec<String>, String> {
    let parts = parts(list)?;
    let count = parts.iter().map(Part::count).fold(1, u64::saturating_mul);
    if count > most as u64 {
        return Err(format!(
            "it stands for {count} hosts, and there is room for {most} more nodes"
        ));
    }
    let none = vec![String::new()];
    Ok(parts.iter().fold(none, |hosts, part| {
        let with = |host: String| part.texts().map(move |text| format!("{host}{text}"));
        hosts.into_iter().flat_map(with).collect()
    }))
}

fn parts(list: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut rest) = (Vec::new(), list);
    while let Some((text, behind)) = rest.split_once('[') {
        let (numbers, behind) =
            behind.split_once(']').ok_or("a bracket is opened and not closed")?;
        parts.push(Part::Text(text));
        parts.push(Part::Numbers(numbers.split(',').map(range).collect::<Result<_, _>>()?));
        rest = behind;
    }
    parts.push(Part::Text(rest));
    let is_open = |part: &Part<'_>| matches!(part, Part::Text(text) if text.contains(']'));
    if parts.iter().any(is_open) {
        return Err("a bracket is closed and not opened".into());
    }
    Ok(parts)
}

/// Parses `7` or `01-12`; the number of digits of the first number is the width.
fn range(text: &str) -> Result<Range, String> {
    let wrong =
        || format!("`{text}` in brackets: write numbers and ranges of numbers, such as [1-8,12]");
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u64>().ok()).flatten().ok_or_else(wrong)
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = Range { first: number(first)?, last: number(last)?, width: first.len() };
    if range.last < range.first {
        return Err(format!("`{text}` in brackets: the second number is below the first"));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Output of `scontrol show hostnames` of Slurm 22.05; `tests/deploy/steps/host-lists.sh`
    /// compares it with an installed Slurm.
    const RECORDED: &str = include_str!("host_lists.txt");

    #[test]
    fn a_list_stands_for_the_hosts_that_slurm_says() {
        for line in RECORDED.lines() {
            let (list, hosts) = line.split_once(' ').unwrap();
            let mut hosts: Vec<_> = hosts.split(' ').collect();
            let mut ours = expand(list, 100).unwrap();
            // With three brackets, Slurm uses another order.
            if list.matches('[').count() > 2 {
                hosts.sort_unstable();
                ours.sort_unstable();
            }
            assert_eq!(ours, hosts, "{list}");
        }
        assert!(RECORDED.lines().count() > 12);
    }

    #[test]
    fn text_may_follow_the_last_bracket() {
        assert_eq!(
            expand("n[1-2].lab:5005[1,3]", 4).unwrap(),
            ["n1.lab:50051", "n1.lab:50053", "n2.lab:50051", "n2.lab:50053"]
        );
        assert_eq!(expand("[08-09]x", 4).unwrap(), ["08x", "09x"]);
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_reason() {
        for (list, why) in [
            ("n[1-2", "opened and not closed"),
            ("n[1-2]]", "closed and not opened"),
            ("n]1[", "opened and not closed"),
            ("n[[1]]", "`[1` in brackets"),
            ("n[]", "`` in brackets"),
            ("n[a-b]", "`a-b` in brackets"),
            ("n[1-2-3]", "`1-2-3` in brackets"),
            ("n[1,,2]", "`` in brackets"),
            ("n[+1]", "`+1` in brackets"),
            ("n[ 1]", "` 1` in brackets"),
            ("n[4-1]", "the second number is below the first"),
            ("n[99999999999999999999]", "in brackets: write numbers"),
            ("n[0-99999999999]", "it stands for 100000000000 hosts"),
            ("n[0-18446744073709551615]", "hosts, and there is room for 100 more"),
            ("n[0-4294967295][0-4294967295][0-4294967295]", "it stands for 18446744073709551615"),
            ("n[1-101]", "it stands for 101 hosts"),
        ] {
            let error = expand(list, 100).unwrap_err();
            assert!(error.contains(why), "{list}: {error}");
        }
    }

    proptest! {
        #[test]
        fn ranges_give_each_number_once_in_order(
            first in 0u64..2000, more in 0u64..50, width in 1usize..6, second in 0u64..20
        ) {
            let list = format!("a[{first:0width$}-{:0width$}]b[0-{second}]", first + more);
            let hosts = expand(&list, 2000).unwrap();
            let want: Vec<_> = (first..=first + more)
                .flat_map(|one| (0..=second).map(move |two| format!("a{one:0width$}b{two}")))
                .collect();
            prop_assert_eq!(hosts, want);
        }
    }
}
