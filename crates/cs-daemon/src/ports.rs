//! A range of ports for each card's tree, so that the servers of two agents on one machine do not meet.
//!
//! A range is kept as long as the card has files here, and no longer. Nothing listens on it for us: whoever else uses such a port
//! is in the way as ever.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cs_model::CardId;
use serde::{Deserialize, Serialize};

use crate::state::StateDir;

/// How many ports a tree has.
pub(crate) const PORTS_EACH: u16 = 20;
/// The first port of the first range. All ranges are below those that systems give out by themselves.
const FIRST_PORT: u16 = 20_000;
/// How many ranges there are; with more trees than that the last have none.
const RANGES: u16 = 600;
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct PortsFile {
    version: u32,
    /// The number of each card's range.
    ranges: BTreeMap<CardId, u16>,
}

/// Returns the first port of a card's range, which it keeps; nothing when all are taken.
///
/// # Errors
/// The file of the ranges cannot be read or written.
pub(crate) fn port_base(state: &StateDir, card: CardId) -> io::Result<Option<u16>> {
    let path = state.ports();
    // Several starts at once agree on who has which; the lock goes with the handle.
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path.with_extension("lock"))?;
    lock.lock()?;
    let mut ranges = read(&path)?;
    if !ranges.contains_key(&card) {
        ranges.retain(|other, _| has_files(state, *other));
        let Some(free) = (0..RANGES).find(|number| ranges.values().all(|taken| taken != number)) else {
            return Ok(None);
        };
        ranges.insert(card, free);
        write(&path, &ranges)?;
    }
    Ok(ranges.get(&card).map(|number| FIRST_PORT + number * PORTS_EACH))
}

fn has_files(state: &StateDir, card: CardId) -> bool {
    let trees = state.git().join("cards").join(card.to_string());
    let is_empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    (trees.is_dir() && !is_empty(&trees)) || state.plain_dir(card).is_dir()
}

/// What is not ours, or torn, holds no range: a card takes another one then, which is no loss.
fn read(path: &Path) -> io::Result<BTreeMap<CardId, u16>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        bytes => bytes?,
    };
    Ok(match serde_json::from_slice::<PortsFile>(&bytes) {
        Ok(file) if file.version == VERSION => file.ranges,
        Ok(_) | Err(_) => {
            tracing::warn!(path = %path.display(), "the ranges of ports cannot be read; they are given anew");
            BTreeMap::new()
        }
    })
}

fn write(path: &Path, ranges: &BTreeMap<CardId, u16>) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let file = PortsFile {
        version: VERSION,
        ranges: ranges.clone(),
    };
    let mut out = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&fresh)?;
    out.write_all(&serde_json::to_vec(&file)?)?;
    out.sync_all()?;
    fs::rename(&fresh, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(number: u8) -> CardId {
        format!("0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c{number:02x}")
            .parse()
            .expect("an id")
    }

    #[test]
    fn each_card_has_a_range_and_keeps_it_while_it_has_files() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(temp.path()).expect("it can be made");
        let base = |number| {
            fs::create_dir_all(state.plain_dir(card(number))).expect("made");
            port_base(&state, card(number)).expect("it can be kept")
        };
        assert_eq!(
            [base(1), base(2), base(1)],
            [Some(20_000), Some(20_020), Some(20_000)]
        );
        fs::remove_dir(state.plain_dir(card(1))).expect("removed");
        assert_eq!(
            [base(3), base(2), base(1)],
            [Some(20_000), Some(20_020), Some(20_040)]
        );
    }

    #[test]
    fn a_torn_file_costs_nobody_a_start() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(temp.path()).expect("it can be made");
        fs::write(state.ports(), "{\"version\":1,\"ran").expect("written");
        assert_eq!(port_base(&state, card(1)).expect("it can be kept"), Some(20_000));
    }
}
