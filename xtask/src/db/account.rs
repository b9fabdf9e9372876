//! Under which account the server runs: it refuses to run as root.

use std::fs;

use anyhow::{Context, Result};

/// A user and a group by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Returns the account for the server when this process is root; nothing when the server may run as this user.
pub(crate) fn for_server() -> Result<Option<Account>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
    let found = named(&accounts, "postgres").or_else(|| named(&accounts, "nobody"));
    found
        .map(Some)
        .context("Postgres does not run as root, and there is neither a user `postgres` nor a user `nobody`")
}

fn named(accounts: &str, name: &str) -> Option<Account> {
    let line = accounts
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut fields = line.split(':').skip(1);
    Some(Account {
        uid: fields.next()?.parse().ok()?,
        gid: fields.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\npostgresql:x:7:7::/:\npostgres:x:106:113:PG:/var/lib:/bin/bash\n";
        assert_eq!(named(accounts, "postgres"), Some(Account { uid: 106, gid: 113 }));
        assert_eq!(named(accounts, "nobody"), None);
        assert_eq!(named("nobody:x:many:0::/:", "nobody"), None);
    }
}
