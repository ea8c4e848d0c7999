//! Page of metrics in the text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write as _};

use crate::metrics::registry::Metric;

/// Text of a page under construction. The values of a metric are added one after the other.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    /// Name of the last metric with a value.
    metric: &'static str,
}

/// Histogram in the form that Prometheus reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    bounds: Vec<f64>,
    /// Number of values in each bucket: values above the bound of the previous bucket, up to the
    /// bound of this bucket. The last bucket has no upper bound.
    counts: Vec<u64>,
    sum: f64,
}

impl Buckets {
    /// Creates an empty histogram with these bounds, which may be in any order and repeated.
    pub fn new(bounds: impl IntoIterator<Item = f64>) -> Self {
        let mut bounds: Vec<_> = bounds.into_iter().collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        Self { counts: vec![0; bounds.len() + 1], bounds, sum: 0.0 }
    }

    /// Adds a value that occurs `count` times.
    pub fn add(&mut self, value: f64, count: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket] += count;
        self.sum += value * count as f64;
    }
}

impl Page {
    /// Adds a metric and its values, each with the values of the metric's labels, in the order of
    /// the labels.
    pub fn values<'a, V: Display>(
        &mut self,
        metric: &Metric,
        values: impl IntoIterator<Item = (Vec<&'a str>, V)>,
    ) {
        for (labels, value) in values {
            self.line(metric, "", &labels, None, value);
        }
    }

    /// Adds a metric whose values are histograms, each with the values of the metric's labels, in
    /// the order of the labels.
    pub fn histograms<'a>(
        &mut self,
        metric: &Metric,
        values: impl IntoIterator<Item = (Vec<&'a str>, Buckets)>,
    ) {
        for (labels, Buckets { bounds, counts, sum }) in values {
            let bounds = bounds.iter().map(ToString::to_string).chain(["+Inf".into()]);
            let mut total = 0;
            for (bound, count) in bounds.zip(counts) {
                total += count;
                self.line(metric, "_bucket", &labels, Some(&bound), total);
            }
            self.line(metric, "_sum", &labels, None, sum);
            self.line(metric, "_count", &labels, None, total);
        }
    }

    /// Returns the text of the page.
    pub fn text(self) -> String {
        self.text
    }

    fn line(
        &mut self,
        metric: &Metric,
        part: &str,
        labels: &[&str],
        bound: Option<&str>,
        value: impl Display,
    ) {
        let Metric { name: metric, kind, labels: names, help, .. } = *metric;
        debug_assert_eq!(names.len(), labels.len(), "{metric}");
        if self.metric != metric {
            self.metric = metric;
            self.write(format_args!("# HELP {metric} {help}\n# TYPE {metric} {kind}\n"));
        }
        let named = names.iter().zip(labels).map(|(name, value)| (*name, *value));
        let named: Vec<_> = named
            .chain(bound.map(|bound| ("le", bound)))
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let braces =
            if named.is_empty() { String::new() } else { format!("{{{}}}", named.join(",")) };
        self.write(format_args!("{metric}{part}{braces} {value}\n"));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::registry::{Kind, Unit};

    #[test]
    fn a_page_is_what_prometheus_reads() {
        let metric =
            |name, kind, labels| Metric { name, kind, unit: Unit::Count, labels, help: "Some" };
        let mut page = Page::default();
        page.values(
            &metric("a_total", Kind::Counter, &["x"]),
            [(vec!["q\"\\\n"], 7), (vec!["y"], 8)],
        );
        let mut buckets = Buckets::new([1.0, 0.5, 1.0]);
        for (value, count) in [(0.25, 2), (0.5, 1), (3.0, 1)] {
            buckets.add(value, count);
        }
        page.values(&metric("absent", Kind::Gauge, &[]), None::<(Vec<&str>, f64)>);
        page.histograms(&metric("b", Kind::Histogram, &[]), [(vec![], buckets)]);
        let want = "# HELP a_total Some\n# TYPE a_total counter\n\
            a_total{x=\"q\\\"\\\\\\n\"} 7\na_total{x=\"y\"} 8\n\
            # HELP b Some\n# TYPE b histogram\n\
            b_bucket{le=\"0.5\"} 3\nb_bucket{le=\"1\"} 3\nb_bucket{le=\"+Inf\"} 4\nb_sum 4\nb_count 4\n";
        assert_eq!(page.text(), want);
    }
}
