//! Reader of a program's Prometheus endpoint.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::TcpStream,
};

/// Returns the reply of an endpoint; `None` when nothing listens there.
pub fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the metrics of an endpoint: for each name the values of its series, with their labels.
/// Empty when nothing listens there.
pub fn scrape(address: &str) -> BTreeMap<String, Vec<(String, f64)>> {
    let answer = get(address, "/metrics").unwrap_or_default();
    let page = answer.split_once("\r\n\r\n").map(|(_, page)| page).unwrap_or_default();
    let mut metrics = BTreeMap::<_, Vec<_>>::new();
    for line in page.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').expect("a series and its value");
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        metrics.entry(name.into()).or_default().push((labels.trim_end_matches('}').into(), value));
    }
    metrics
}

/// Returns the sum of a metric over all its series.
pub fn total(metrics: &BTreeMap<String, Vec<(String, f64)>>, name: &str) -> f64 {
    metrics.get(name).into_iter().flatten().map(|(_, value)| value).sum()
}
