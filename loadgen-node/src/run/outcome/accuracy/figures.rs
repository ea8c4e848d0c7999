//! Rounding of accuracy results (rules, section 4.1.1): five significant figures, half to even.

/// Returns `parts` of `whole` in percent. The arithmetic is exact, because a half in decimal
/// notation is not a half as a binary fraction.
pub(crate) fn percent(parts: u64, whole: u64) -> String {
    let (parts, whole) = (u128::from(parts) * 100, u128::from(whole.max(1)));
    // A percentage has at most three digits before the point.
    let mut decimals = 2;
    while parts > 0 && parts * 10_u128.pow(decimals) < LEAST * whole {
        decimals += 1;
    }
    let mut figures = divide(parts * 10_u128.pow(decimals), whole);
    if figures == LEAST * 10 {
        figures /= 10;
        decimals -= 1;
    }
    let unit = 10_u128.pow(decimals);
    format!("{}.{:0width$}", figures / unit, figures % unit, width = decimals as usize)
}

/// Smallest number with five figures.
const LEAST: u128 = 10_000;

/// Divides to the nearest integer; of two equally near ones, to the even one.
fn divide(dividend: u128, divisor: u128) -> u128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let up = match (rest * 2).cmp(&divisor) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => quotient % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    quotient + u128::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_figures_and_halves_to_even() {
        for (parts, whole, want) in [
            // The rule's own example.
            (989_995, 1_000_000, "99.000"),
            (764_565, 1_000_000, "76.456"),
            (764_575, 1_000_000, "76.458"),
            (493, 500, "98.600"),
            (1, 1, "100.00"),
            (999_999, 1_000_000, "100.00"),
            (1, 3, "33.333"),
            (1, 12, "8.3333"),
            (1, 50_000, "0.0020000"),
            (0, 50_000, "0.00"),
        ] {
            assert_eq!(percent(parts, whole), want, "{parts} of {whole}");
        }
    }
}
