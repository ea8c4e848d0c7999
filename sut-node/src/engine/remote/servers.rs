//! The servers behind a node, and the number of requests in flight to each.

use std::{
    fmt,
    ops::Deref,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::{Uri, uri::PathAndQuery};

/// All servers of a node. `C` is the type of the client with which an instance calls one server.
pub(crate) struct Servers<C = ()>(Vec<Server<C>>);

/// A server, and the client with which an instance calls it.
pub(crate) struct Server<C = ()> {
    url: Uri,
    /// Number of requests of all instances that are in flight to this server.
    under_way: Arc<AtomicUsize>,
    /// Client of this instance for this server; `()` if one client calls all servers.
    pub(crate) caller: C,
}

impl Servers {
    pub(crate) fn new(urls: &[Uri]) -> Self {
        let server = |url: &Uri| Server { url: url.clone(), under_way: Arc::default(), caller: () };
        Self(urls.iter().map(server).collect())
    }

    /// Returns these servers, each with a client that `caller` creates. They share the counts of
    /// requests in flight.
    pub(crate) fn with<C>(&self, caller: impl Fn(&Uri) -> C) -> Servers<C> {
        let server = |Server { url, under_way, .. }: &Server| Server {
            url: url.clone(),
            under_way: under_way.clone(),
            caller: caller(url),
        };
        Servers(self.0.iter().map(server).collect())
    }
}

impl<C> Servers<C> {
    pub(crate) fn all(&self) -> &[Server<C>] {
        &self.0
    }

    /// Picks the server with the minimum number of requests in flight, and counts one more. Avoids
    /// the busy server if there is another. Returns `None` without servers.
    pub(crate) fn pick(&self, busy: Option<&Server<C>>) -> Option<Request<'_, C>> {
        let is_busy = |server: &Server<C>| busy.is_some_and(|busy| ptr::eq(busy, server));
        let fewest =
            |server: &&Server<C>| (is_busy(server), server.under_way.load(Ordering::Relaxed));
        self.0.iter().min_by_key(fewest).map(Server::begin_request)
    }
}

impl<C> Server<C> {
    /// Counts one more request to this server, until the result is dropped.
    pub(crate) fn begin_request(&self) -> Request<'_, C> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Request(self)
    }

    /// Returns the URL of a path at this server.
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
        let busy = &servers.all()[1];
        assert_eq!(servers.pick(Some(busy)).unwrap().to_string(), "http://a:1");
        // Requests of other instances count.
        let others = servers.with(|url| url.port_u16());
        let third = others.pick(None).unwrap();
        assert_eq!((third.to_string(), third.caller), ("http://b:2".into(), Some(2)));
    }
}
