//! The servers behind a node, and the number of requests in flight to each.

use std::{
    fmt,
    ops::Deref,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use http::{Uri, uri::PathAndQuery};

use crate::model::identity::ServerCount;

/// All servers of a node. `C` is the type of the client with which an instance calls one server.
pub(crate) struct Servers<C = ()>(Vec<Server<C>>);

/// A server, and the client with which an instance calls it.
pub(crate) struct Server<C = ()> {
    url: Uri,
    /// Number of requests of all instances that are in flight to this server.
    under_way: Arc<AtomicUsize>,
    /// Number of requests of all instances for which this server was picked.
    picked: Arc<AtomicU64>,
    /// Client of this instance for this server; `()` if one client calls all servers.
    pub(crate) caller: C,
}

impl Servers {
    pub(crate) fn new(urls: &[Uri]) -> Self {
        let server = |url: &Uri| Server {
            url: url.clone(),
            under_way: Arc::default(),
            picked: Arc::default(),
            caller: (),
        };
        Self(urls.iter().map(server).collect())
    }

    /// Returns these servers, each with a client that `caller` creates. They share the counts of
    /// requests in flight.
    pub(crate) fn with<C>(&self, caller: impl Fn(&Uri) -> C) -> Servers<C> {
        let server = |Server { url, under_way, picked, .. }: &Server| Server {
            url: url.clone(),
            under_way: under_way.clone(),
            picked: picked.clone(),
            caller: caller(url),
        };
        Servers(self.0.iter().map(server).collect())
    }
}

impl<C> Servers<C> {
    pub(crate) fn all(&self) -> &[Server<C>] {
        &self.0
    }

    /// Returns the counter of each server's requests.
    pub(crate) fn counts(&self) -> Vec<ServerCount> {
        let count = |server: &Server<C>| ServerCount {
            address: server.to_string(),
            requests: server.picked.clone(),
        };
        self.0.iter().map(count).collect()
    }

    /// Picks the server with the minimum number of requests in flight, among equals the one that was
    /// picked for the fewest requests, and counts one more. Avoids the busy server if there is
    /// another. Returns `None` without servers.
    pub(crate) fn pick(&self, busy: Option<&Server<C>>) -> Option<Request<'_, C>> {
        let is_busy = |server: &Server<C>| busy.is_some_and(|busy| ptr::eq(busy, server));
        let load = |server: &&Server<C>| {
            let (under_way, picked) = (&server.under_way, &server.picked);
            (is_busy(server), under_way.load(Ordering::Relaxed), picked.load(Ordering::Relaxed))
        };
        let server = self.0.iter().min_by_key(load)?;
        server.picked.fetch_add(1, Ordering::Relaxed);
        server.under_way.fetch_add(1, Ordering::Relaxed);
        Some(Request(server))
    }
}

impl<C> Server<C> {
    pub(crate) fn url_of(&self, path: &'static str) -> Uri {
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static(path));
        Uri::from_parts(parts).unwrap_or_else(|_| self.url.clone())
    }
}

impl<C> fmt::Display for Server<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.to_string().trim_end_matches('/'))
    }
}

/// A request that is in flight until it is dropped.
pub(crate) struct Request<'a, C = ()>(&'a Server<C>);

impl<C> Deref for Request<'_, C> {
    type Target = Server<C>;

    fn deref(&self) -> &Server<C> {
        self.0
    }
}

impl<C> Drop for Request<'_, C> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_to_the_server_with_the_fewest() {
        let urls = ["http://a:1", "http://b:2"].map(|url| url.parse().unwrap());
        let servers = Servers::new(&urls);
        let first = servers.pick(None).unwrap();
        let second = servers.pick(None).unwrap();
        assert_eq!([first.to_string(), second.to_string()], ["http://a:1", "http://b:2"]);
        drop(second);
        assert_eq!(servers.pick(None).unwrap().url_of("/x").to_string(), "http://b:2/x");
        assert_eq!(servers.counts().iter().map(ServerCount::now).collect::<Vec<_>>(), [1, 2]);
        let busy = &servers.all()[1];
        assert_eq!(servers.pick(Some(busy)).unwrap().to_string(), "http://a:1");
        // Requests of other instances count.
        let others = servers.with(|url| url.port_u16());
        let third = others.pick(None).unwrap();
        assert_eq!((third.to_string(), third.caller), ("http://b:2".into(), Some(2)));
    }

    /// Servers that answer before the next request, and a window that is smaller than the number of
    /// servers, give each server its share.
    #[test]
    fn equals_take_turns() {
        for (count, window) in [(4, 1), (4, 3), (2, 1), (3, 5)] {
            let urls: Vec<_> =
                (0..count).map(|n| format!("http://a:{n}").parse().unwrap()).collect();
            let servers = Servers::new(&urls);
            let mut in_flight = std::collections::VecDeque::new();
            for _ in 0..30 * count {
                if in_flight.len() == window {
                    in_flight.pop_front();
                }
                in_flight.push_back(servers.pick(None));
            }
            let shares: Vec<_> = servers.counts().iter().map(ServerCount::now).collect();
            assert!(shares.iter().all(|share| *share == 30), "{window} in flight: {shares:?}");
        }
    }
}
