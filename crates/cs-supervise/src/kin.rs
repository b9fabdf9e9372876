//! Who descends from whom: whether a process belongs to an execution's tree, and whether this one was started in one.
//!
//! A shim is the subreaper of all that its agent starts, so that a process belongs to the tree exactly when the shim is among its
//! ancestors, whatever it has made of its session, its group and its environment.

use std::fs;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};

use rustix::process::{Pid, getpid};

use crate::dir::{self, ExecutionDir};
use crate::identity::ProcessIdentity;
use crate::wire::{COOKIE_VARIABLE, Ident};
use crate::{proc, tree};

/// Nobody's line is longer; a line that is read while numbers change hands could go in circles.
const MOST_ANCESTORS: usize = 4096;

/// Says whether this process belongs to the tree of an execution whose shim lives. The shim itself does not.
///
/// It is a snapshot. Whoever asks about the peer of a socket has a number that was right when the peer connected: if the peer has ended
/// since, another process may have its number, and the answer is about that one.
///
/// # Errors
/// The execution's directory or `/proc` cannot be read.
pub fn belongs_to(dir: &ExecutionDir, pid: i32) -> io::Result<bool> {
    let Some(shim) = dir.read::<Ident>(dir::IDENT)?.map(|ident| ident.shim) else {
        return Ok(false);
    };
    Ok(shim.is_alive() && descends_from(pid, &shim)? && shim.is_alive())
}

fn descends_from(pid: i32, root: &ProcessIdentity) -> io::Result<bool> {
    let mut at = process(pid);
    for _ in 0..MOST_ANCESTORS {
        let Some(stat) = at.map(proc::stat).transpose()?.flatten() else {
            return Ok(false);
        };
        if stat.parent == root.pid() {
            return Ok(true);
        }
        at = process(stat.parent);
    }
    Ok(false)
}

/// Says whether a process of the tree of an execution whose shim lives holds this end of a TCP connection on the loopback: `from` is its
/// address, `to` that of the other end. It is a snapshot, and looks at the descriptors of all processes of the tree.
///
/// # Errors
/// The execution's directory or `/proc` cannot be read.
pub fn holds_connection(dir: &ExecutionDir, from: SocketAddr, to: SocketAddr) -> io::Result<bool> {
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (from, to) else {
        return Ok(false);
    };
    let Some(shim) = dir.read::<Ident>(dir::IDENT)?.map(|ident| ident.shim) else {
        return Ok(false);
    };
    let table = fs::read_to_string("/proc/self/net/tcp")?;
    let mapped = fs::read_to_string("/proc/self/net/tcp6").unwrap_or_default();
    let Some(inode) = inode_of(&table, from, to).or_else(|| inode_of(&mapped, from, to)) else {
        return Ok(false);
    };
    let Some(root) = process(shim.pid()).filter(|_| shim.is_alive()) else {
        return Ok(false);
    };
    let socket = format!("socket:[{inode}]");
    let mut is_held = false;
    tree::walk(root, |member| is_held = is_held || holds(member.pid, &socket));
    Ok(is_held && shim.is_alive())
}

fn holds(pid: Pid, socket: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    open.filter_map(|fd| fs::read_link(fd.path()).ok())
        .any(|file| file.as_os_str() == socket)
}

/// Finds the inode of one end in a table of the kernel: number, own address, other address, state, queues, timer, retransmits, user,
/// timeout, inode ... An end that is only remembered has none.
fn inode_of(table: &str, from: SocketAddrV4, to: SocketAddrV4) -> Option<u64> {
    // Words are shown in the byte order of the machine; an address of version 4 ends one of version 6.
    let shown = |at: SocketAddrV4| format!("{:08X}:{:04X}", u32::from_ne_bytes(at.ip().octets()), at.port());
    let (from, to) = (shown(from), shown(to));
    let inode = table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&from) && fields.get(2)?.ends_with(&to);
        is_it.then(|| fields.get(9)?.parse().ok()).flatten()
    });
    inode.filter(|inode| *inode != 0)
}

fn process(number: i32) -> Option<Pid> {
    (number > 0).then(|| Pid::from_raw(number)).flatten()
}

/// Says whether this process was started in an execution, by the mark in its environment or in that of its nearest ancestor that has one.
/// An empty mark says that it was not: whoever sets it on purpose is taken at their word.
#[must_use]
pub fn is_in_execution() -> bool {
    let mut at = Some(getpid());
    for _ in 0..MOST_ANCESTORS {
        let Some(pid) = at else { return false };
        // What belongs to somebody else does not show its environment; its ancestors may.
        if let Ok(Some(cookie)) = proc::variable(pid, COOKIE_VARIABLE) {
            return !cookie.is_empty();
        }
        let stat = proc::stat(pid).ok().flatten();
        at = stat.and_then(|stat| process(stat.parent));
    }
    false
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 222 1 0 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 333 1 0 20 4 30 10 -1
   3: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
";
    const MAPPED: &str = "   0: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0  1002        0 444 1\n";

    #[test]
    fn the_other_end_of_a_connection_is_found_in_the_tables_of_the_kernel() {
        let at = |port| SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
        for (table, from, inode) in [
            (TABLE, 50_000, Some(333)),
            (TABLE, 50_001, None),
            (TABLE, 50_002, None),
            (MAPPED, 50_002, Some(444)),
            ("", 50_000, None),
            ("x\n   2: 0100007F:C350 0100007F:1F90 01\n", 50_000, None),
        ] {
            assert_eq!(inode_of(table, at(from), at(8080)), inode, "{from}");
        }
    }
}
