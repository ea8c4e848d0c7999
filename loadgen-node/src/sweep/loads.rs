//! Loads that an operator requests: a list, or a range.

use serde::Serialize;

/// Number of loads in a range.
const COUNT: usize = 8;

/// Maximum number of loads in a list.
const MAX_COUNT: usize = 200;

const FORM: &str = "write a list such as 100,200,400, or a range such as 100..1600";

/// Loads in ascending order, each once.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Loads(pub(crate) Vec<f64>);

impl Loads {
    /// Parses rates.
    pub(crate) fn rates(text: &str) -> Result<Self, String> {
        Self::parse(text, |load| load)
    }

    /// Parses concurrencies, which are whole numbers. A range is rounded to them.
    pub(crate) fn concurrencies(text: &str) -> Result<Self, String> {
        let loads = Self::parse(text, f64::round)?;
        let is_whole = |text: &str| text.trim().parse::<u32>().is_ok_and(|load| load > 0);
        let ends = text.split("..").flat_map(|text| text.split(','));
        match ends.into_iter().find(|text| !is_whole(text)) {
            Some(other) => Err(format!("`{other}` is not a whole number; {FORM}")),
            None => Ok(loads),
        }
    }

    /// Returns equal parts of the rate that nodes reach at most, up to that rate.
    pub(crate) fn up_to(rate: f64) -> Self {
        Self::of((1..=COUNT).map(|n| significant(rate * n as f64 / COUNT as f64)).collect())
    }

    fn of(mut loads: Vec<f64>) -> Self {
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        Self(loads)
    }

    /// Parses a list, or a range, whose loads have equal ratios and are rounded by `round`.
    fn parse(text: &str, round: fn(f64) -> f64) -> Result<Self, String> {
        let load = |text: &str| match text.trim().parse::<f64>() {
            Ok(load) if (1e-3..=1e8).contains(&load) => Ok(load),
            Ok(_) => Err(format!("`{text}` must be from 0.001 to 100000000")),
            Err(_) => Err(format!("`{text}` is not a number; {FORM}")),
        };
        if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (load(first)?, load(last)?);
            if first >= last {
                return Err(format!("`{text}` does not rise; {FORM}"));
            }
            let share = |n: usize| (last / first).powf(n as f64 / (COUNT - 1) as f64);
            let between = (1..COUNT - 1).map(|n| round(significant(first * share(n))));
            return Ok(Self::of([first].into_iter().chain(between).chain([last]).collect()));
        }
        let loads = text.split(',').map(load).collect::<Result<Vec<_>, _>>()?;
        if loads.len() > MAX_COUNT {
            return Err(format!("{} loads are too many; give at most {MAX_COUNT}", loads.len()));
        }
        Ok(Self::of(loads))
    }
}

/// Rounds a load to three significant digits.
pub(crate) fn significant(load: f64) -> f64 {
    let unit = 10_f64.powf(load.log10().floor() - 2.0);
    let rounded = (load / unit).round();
    // Dividing by a whole power of ten gives the nearest number to the decimal one.
    if unit < 1.0 { rounded / unit.recip().round() } else { rounded * unit.round() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_lists_and_ranges() {
        let read = |text: &str| Loads::rates(text).map(|loads| loads.0);
        assert_eq!(read("400, 100,200,100").unwrap(), [100.0, 200.0, 400.0]);
        assert_eq!(read("1..128").unwrap(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!(read("0.5..64").unwrap()[..3], [0.5, 1.0, 2.0]);
        let ends = read("1234..5678").unwrap();
        assert_eq!((ends[0], ends[1], ends[7]), (1234.0, 1530.0, 5678.0));
        for wrong in ["", "a", "1,", "0", "-1", "1..1", "9..2", "1e99", "nan", "1...2", "inf"] {
            read(wrong).unwrap_err();
        }
        assert!(read(&vec!["1"; 201].join(",")).is_err());
        let whole = |text: &str| Loads::concurrencies(text).map(|loads| loads.0);
        assert_eq!(whole("1..10").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0]);
        assert_eq!(whole("16,4").unwrap(), [4.0, 16.0]);
        for wrong in ["1.5", "0", "0.5..9", "1..9.5", "5000000000"] {
            whole(wrong).unwrap_err();
        }
    }

    #[test]
    fn a_default_reaches_up_to_the_rate_that_was_measured() {
        let loads = Loads::up_to(1234.5).0;
        assert_eq!((loads.len(), loads[0], loads[7]), (8, 154.0, 1230.0));
        assert_eq!(Loads::up_to(0.7).0[7], 0.7);
    }
}
