//! The serving engines behind a node, and how many requests each has under way.

use std::{
    fmt, ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

use http::{Uri, uri::PathAndQuery};

/// All of them.
pub(super) struct Servers(Vec<Server>);

/// One of them.
pub(super) struct Server {
    url: Uri,
    under_way: AtomicUsize,
}

impl Servers {
    pub(super) fn new(urls: &[Uri]) -> Self {
        let server = |url: &Uri| Server { url: url.clone(), under_way: AtomicUsize::new(0) };
        Self(urls.iter().map(server).collect())
    }

    pub(super) fn all(&self) -> &[Server] {
        &self.0
    }

    /// The one with the fewest requests under way, with one more; not the busy one, if there is another. `None`: there is no
    /// server.
    pub(super) fn pick(&self, busy: Option<&Server>) -> Option<Request<'_>> {
        let is_busy = |server: &Server| busy.is_some_and(|busy| ptr::eq(busy, server));
        let fewest = |server: &&Server| (is_busy(server), server.under_way.load(Ordering::Relaxed));
        self.0.iter().min_by_key(fewest).map(Server::one_more)
    }
}

impl Server {
    /// A request to this one.
    pub(super) fn one_more(&self) -> Request<'_> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Request(self)
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &Uri {
        &self.url
    }

    /// The address of a path.
    pub(super) fn at(&self, path: &'static str) -> Uri {
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static(path));
        Uri::from_parts(parts).unwrap_or_else(|_| self.url.clone())
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.to_string().trim_end_matches('/'))
    }
}

/// A request that is under way until this is dropped.
pub(super) struct Request<'a>(&'a Server);

impl std::ops::Deref for Request<'_> {
    type Target = Server;

    fn deref(&self) -> &Server {
        self.0
    }
}

impl Drop for Request<'_> {
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
        assert_eq!(servers.pick(None).unwrap().at("/x").to_string(), "http://b:2/x");
        let busy = &servers.all()[1];
        assert_eq!(servers.pick(Some(busy)).unwrap().to_string(), "http://a:1");
    }
}
