//! Figures of a network, as people read them.

/// With three digits that count, of slow networks too.
pub(crate) fn gigabytes(bytes: f64) -> String {
    match bytes / 1e9 {
        gb if gb < 0.1 => format!("{gb:.5}"),
        gb => format!("{gb:.3}"),
    }
}

/// A message size.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}
