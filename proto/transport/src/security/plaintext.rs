//! Limits of plaintext: unless it is requested, it is allowed only for addresses on this machine.

use crate::address::{LOCALHOST, canonical_name, ip};

/// Returns true if an address, `HOST:PORT` or `NAME@IP:PORT`, can only be on this machine.
pub fn is_loopback(address: &str) -> bool {
    let place = address.rsplit_once('@').map_or(address, |(_, place)| place);
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    canonical_name(host) == LOCALHOST || ip(host).is_some_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for address in [
            "localhost:1",
            "127.0.0.1:1",
            "127.8.9.1:1",
            "[::1]:1",
            "[::1%lo]:1",
            "localhost",
            "LOCALHOST:1",
            "localhost.:1",
            "[::ffff:127.0.0.1]:1",
            "a@127.0.0.1:1",
        ] {
            assert!(is_loopback(address), "{address}");
        }
        for address in [
            "0.0.0.0:1",
            "[::]:1",
            "10.0.0.1:1",
            "localhost.example:1",
            "localhost..:1",
            "[::ffff:10.0.0.1]:1",
            "localhost@10.0.0.1:1",
            "[fe80::1%lo]:1",
            ":1",
            "",
        ] {
            assert!(!is_loopback(address), "{address}");
        }
    }
}
