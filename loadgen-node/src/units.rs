//! Formats of network figures.

pub(crate) use netdiv_node_common::words::count;

/// Formats bytes as gigabytes, with three significant digits for slow networks too.
pub(crate) fn gigabytes(bytes: f64) -> String {
    match bytes / 1e9 {
        gb if gb < 0.1 => format!("{gb:.5}"),
        gb => format!("{gb:.3}"),
    }
}

/// Formats bytes per second in Gbit/s, the unit in which links are sold.
pub(crate) fn gigabits(bytes: f64) -> String {
    match bytes * 8.0 / 1e9 {
        gb if gb < 1.0 => format!("{gb:.4}"),
        gb => format!("{gb:.2}"),
    }
}

/// Formats a rate in GB/s and in Gbit/s.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    format!("{} GB/s ({} Gbit/s)", gigabytes(bytes_per_second), gigabits(bytes_per_second))
}

/// Formats a message size.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}
