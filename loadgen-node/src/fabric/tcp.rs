//! Statistics of this process's TCP connections: `tcp_info`, read from the kernel over `sock_diag`,
//! as by `ss -ti`.

use std::{collections::BTreeSet, fs, io};

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::{
    SockDiagMessage,
    constants::{AF_INET, AF_INET6, IPPROTO_TCP},
    inet::{
        ExtensionFlags, InetRequest, SocketId, StateFlags,
        nlas::{Nla, TcpInfo},
    },
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};

use super::path::Connection;

/// Size of the read buffer; a part of a dump is at most 32 KiB.
const BUFFER_BYTES: usize = 64 << 10;

/// Returns the established connections of this process. Empty if the kernel does not report them:
/// without `sock_diag`, or before Linux 5.5.
pub(super) fn connections() -> Vec<Connection> {
    let own = own_sockets();
    let of_family = |(family, id)| dump(family, id, &own).unwrap_or_default();
    [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())]
        .into_iter()
        .flat_map(of_family)
        .collect()
}

/// Returns the inodes of the sockets that this process has open.
fn own_sockets() -> BTreeSet<u32> {
    let files = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let inode = |file: fs::DirEntry| {
        let target = fs::read_link(file.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    files.filter_map(inode).collect()
}

fn dump(family: u8, socket_id: SocketId, own: &BTreeSet<u32>) -> io::Result<Vec<Connection>> {
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::INFO,
        states: StateFlags::ESTABLISHED,
        socket_id,
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut request = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let mut found = Vec::new();
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    loop {
        buffer.clear();
        let read = socket.recv(&mut buffer, 0)?;
        let mut rest = buffer.get(..read).unwrap_or_default();
        while !rest.is_empty() {
            let message =
                NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                    let inode = response.header.inode;
                    let infos = response.nlas.iter().filter_map(|nla| match nla {
                        Nla::TcpInfo(info) => Some(info),
                        _ => None,
                    });
                    found.extend(
                        infos
                            .filter(|_| own.contains(&inode))
                            .map(|i| connection_from_info(inode, i)),
                    );
                }
                NetlinkPayload::Done(_) => return Ok(found),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
            // Messages begin at multiples of four bytes.
            let length = (message.header.length as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

fn connection_from_info(inode: u32, info: &TcpInfo) -> Connection {
    Connection {
        id: inode.into(),
        sent_again: info.total_retrans.into(),
        round_trip_us: info.rtt.into(),
        congestion_window_bytes: u64::from(info.snd_cwnd) * u64::from(info.snd_mss),
        delivery_bytes_per_second: Some(info.delivery_rate),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    #[test]
    fn own_connections_are_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut one_end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut other_end = listener.accept().unwrap().0;
        one_end.write_all(&[1; 1000]).unwrap();
        other_end.read_exact(&mut [0; 1000]).unwrap();
        let found = connections();
        // Other tests of this process may have connections of their own.
        assert!(found.len() >= 2, "{found:?}");
        assert!(found.iter().all(|one| one.round_trip_us > 0), "{found:?}");
        assert!(found.iter().all(|one| one.congestion_window_bytes > 1000), "{found:?}");
    }
}
