use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::event::RunEvent;
use crate::frame::HEADER_BYTES;
use crate::sample::{any_event, begun, recorded, row, run};

fn room() -> TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() {
        tempfile::tempdir_in(shared)
    } else {
        tempfile::tempdir()
    };
    made.expect("a temporary directory")
}

fn open(path: &Path) -> (Ledger, Opening) {
    Ledger::open(path).expect("the ledger opens")
}

fn story() -> Vec<Event> {
    let dir = "d".to_owned();
    vec![
        begun(1),
        recorded(1, vec![row(5, 1)]),
        run(5, RunEvent::Prepared { dir }),
        Event::Imported,
        begun(2),
    ]
}

/// The state after each prefix of the story, and where it ends in the file.
fn write_story(path: &Path) -> Vec<(u64, LedgerState)> {
    let (mut ledger, opening) = open(path);
    assert_eq!(opening.ledger, LedgerOpened::New);
    let mut prefixes = vec![(ledger.end, ledger.state.clone())];
    for event in story() {
        ledger.append(&event).expect("it is written");
        prefixes.push((ledger.end, ledger.state.clone()));
    }
    prefixes
}

/// The state of the longest prefix that ends at or before an offset, as it is after a part was lost.
fn prefix(prefixes: &[(u64, LedgerState)], offset: u64) -> (u64, LedgerState) {
    let found = prefixes.iter().rev().find(|(end, _)| *end <= offset);
    found.expect("the header is whole").clone()
}

fn lost_a_part(mut state: LedgerState) -> LedgerState {
    state.apply(&Event::TailLost { bytes: 1 }).expect("always legal");
    state
}

/// A file with this much room left, for any number of writes.
#[derive(Debug)]
struct Small {
    file: File,
    room: Arc<AtomicU64>,
    sync_works: bool,
}

impl Disk for Small {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let fits = bytes
            .len()
            .min(usize::try_from(self.room.load(Ordering::Relaxed)).expect("small"));
        self.file.write_at(&bytes[..fits], offset)?;
        if fits < bytes.len() {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.file.cut(length)
    }

    fn sync(&self) -> io::Result<()> {
        if self.sync_works {
            self.file.sync()
        } else {
            Err(io::Error::other("the disk is gone"))
        }
    }
}

fn make_small(ledger: &mut Ledger, room: u64, sync_works: bool) -> Arc<AtomicU64> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&ledger.path)
        .expect("it is there");
    let room = Arc::new(AtomicU64::new(room));
    ledger.disk = Box::new(Small {
        file,
        room: Arc::clone(&room),
        sync_works,
    });
    room
}

#[test]
fn what_was_appended_is_there_after_a_restart() {
    let room = room();
    let path = room.path().join("ledger");
    let prefixes = write_story(&path);
    let (ledger, opening) = open(&path);
    assert_eq!(
        opening,
        Opening {
            ledger: LedgerOpened::Existing,
            set_aside: None
        }
    );
    assert_eq!(ledger.state, prefixes[prefixes.len() - 1].1);
}

#[test]
fn a_ledger_that_was_cut_anywhere_keeps_its_intact_prefix() {
    let room = room();
    let path = room.path().join("ledger");
    let prefixes = write_story(&path);
    let whole = fs::read(&path).expect("it is there");
    for length in HEADER_BYTES..whole.len() {
        let case = room.path().join(format!("cut-{length}"));
        fs::write(&case, &whole[..length]).expect("written");
        let (end, state) = prefix(&prefixes, as_u64(length));
        let (ledger, opening) = open(&case);
        let torn = as_u64(length) - end;
        match opening.set_aside {
            None => assert_eq!((torn, &ledger.state), (0, &state)),
            Some(aside) => {
                assert_eq!(aside.bytes, torn);
                assert_eq!(
                    fs::read(aside.path).expect("kept"),
                    whole[usize::try_from(end).expect("small")..length]
                );
                assert_eq!(ledger.state, lost_a_part(state));
            }
        }
    }
}

#[test]
fn a_ledger_with_a_flipped_byte_keeps_what_lies_before_it() {
    let room = room();
    let path = room.path().join("ledger");
    let prefixes = write_story(&path);
    let whole = fs::read(&path).expect("it is there");
    for place in HEADER_BYTES..whole.len() {
        let case = room.path().join(format!("flip-{place}"));
        let mut bytes = whole.clone();
        bytes[place] ^= 0x40;
        fs::write(&case, &bytes).expect("written");
        let (end, state) = prefix(&prefixes, as_u64(place));
        let (mut ledger, opening) = open(&case);
        let aside = opening.set_aside.expect("the damage is reported");
        assert_eq!(
            fs::read(aside.path).expect("kept"),
            bytes[usize::try_from(end).expect("small")..]
        );
        assert_eq!(ledger.state, lost_a_part(state));
        ledger.append(&begun(77)).expect("it goes on");
        drop(ledger);
        let (ledger, opening) = open(&case);
        assert_eq!(opening.set_aside, None, "flipped at {place}");
        assert!(ledger.state.claims().contains_key(&crate::sample::operation(77)));
    }
}

#[test]
fn a_file_with_a_damaged_header_is_refused_and_not_touched() {
    let room = room();
    let path = room.path().join("ledger");
    write_story(&path);
    let whole = fs::read(&path).expect("it is there");
    for place in 0..HEADER_BYTES {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        fs::write(&path, &bytes).expect("written");
        let refused = Ledger::open(&path).expect_err("it is damaged");
        assert!(matches!(refused, LedgerError::NotALedger { .. }), "{refused}");
        assert_eq!(fs::read(&path).expect("kept"), bytes);
    }
}

#[test]
fn a_creation_that_was_cut_is_made_anew() {
    let room = room();
    for length in 0..HEADER_BYTES {
        let path = room.path().join(format!("torn-{length}"));
        fs::write(&path, &frame::header(VERSION)[..length]).expect("written");
        let (ledger, opening) = open(&path);
        assert_eq!(opening.ledger, LedgerOpened::New);
        assert_eq!(opening.set_aside.map_or(0, |aside| aside.bytes), as_u64(length));
        assert_eq!(ledger.state, LedgerState::default());
    }
}

#[test]
fn a_newer_ledger_is_refused_and_not_touched() {
    let room = room();
    let path = room.path().join("ledger");
    fs::write(&path, frame::header(VERSION + 1)).expect("written");
    let refused = Ledger::open(&path).expect_err("it is newer");
    assert!(
        matches!(
            refused,
            LedgerError::Newer {
                version: 2,
                known: 1,
                ..
            }
        ),
        "{refused}"
    );
    assert_eq!(fs::read(&path).expect("kept"), frame::header(VERSION + 1));
}

/// CJ-18.
#[test]
fn an_unknown_event_is_an_error_and_not_damage() {
    let room = room();
    let path = room.path().join("ledger");
    let mut bytes = frame::header(VERSION).to_vec();
    bytes.extend(frame::frame(br#"{"event":"moon_landing","crew":3}"#).expect("it fits"));
    fs::write(&path, &bytes).expect("written");
    let refused = Ledger::open(&path).expect_err("it is unknown");
    assert_eq!(
        refused.to_string(),
        "the event `moon_landing` at byte 16 of the ledger (version 1) is unknown to this program: use the newer program that wrote it"
    );
    assert_eq!(fs::read(&path).expect("kept"), bytes);
}

#[test]
fn intact_events_that_contradict_each_other_are_an_error() {
    let room = room();
    let path = room.path().join("ledger");
    let mut bytes = frame::header(VERSION).to_vec();
    bytes.extend(encode(&run(5, RunEvent::Closed)).expect("it fits"));
    fs::write(&path, &bytes).expect("written");
    let refused = Ledger::open(&path).expect_err("nothing was claimed");
    assert!(
        matches!(refused, LedgerError::Contradiction { offset: 16, .. }),
        "{refused}"
    );
}

/// Every byte of a ledger, with every value that it should not have.
#[test]
fn no_flipped_byte_is_believed() {
    let room = room();
    let path = room.path().join("ledger");
    let (mut ledger, _) = open(&path);
    let mut prefixes = vec![(ledger.end, ledger.state.clone())];
    for event in [begun(1), recorded(1, vec![row(5, 1)])] {
        ledger.append(&event).expect("it is written");
        prefixes.push((ledger.end, ledger.state.clone()));
    }
    let whole = fs::read(&path).expect("it is there");
    for place in HEADER_BYTES..whole.len() {
        let (end, state) = prefix(&prefixes, as_u64(place));
        for flip in 1..=u8::MAX {
            let mut bytes = whole.clone();
            bytes[place] ^= flip;
            let (found, intact) = replay(&bytes).expect("damage is no contradiction");
            assert_eq!((as_u64(intact), &found), (end, &state), "byte {place} ^ {flip}");
        }
    }
}

#[test]
fn a_directory_in_the_place_of_the_ledger_is_named() {
    let room = room();
    let path = room.path().join("ledger");
    fs::create_dir(&path).expect("made");
    let refused = Ledger::open(&path).expect_err("it is no file");
    assert!(matches!(refused, LedgerError::IsADirectory { .. }), "{refused}");
    assert!(path.is_dir());
}

/// Whoever runs as root is refused nothing, so the refusal is made here.
#[test]
fn a_ledger_of_somebody_else_is_named_with_the_cure() {
    let denied = io::ErrorKind::PermissionDenied.into();
    let refused = failed("open", Path::new("state/ledger"), denied);
    assert_eq!(
        refused.to_string(),
        "cannot open state/ledger: the user who runs cs-panel must own it and be able to read and write it"
    );
}

#[test]
fn two_cannot_have_one_ledger() {
    let room = room();
    let path = room.path().join("ledger");
    let (first, _) = open(&path);
    let refused = Ledger::open(&path).expect_err("it is taken");
    assert!(matches!(refused, LedgerError::Locked { .. }), "{refused}");
    drop(first);
    open(&path);
}

#[test]
fn a_compaction_does_not_let_go_of_the_lock() {
    let room = room();
    let path = room.path().join("ledger");
    let (mut ledger, _) = open(&path);
    ledger.compact().expect("it compacts");
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Locked { .. })));
}

#[test]
fn only_the_owner_can_read_what_is_written() {
    use std::os::unix::fs::PermissionsExt;
    let room = room();
    let path = room.path().join("ledger");
    let (mut ledger, _) = open(&path);
    ledger.append(&begun(1)).expect("it is written");
    ledger.compact().expect("it compacts");
    drop(ledger);
    let mut bytes = fs::read(&path).expect("it is there");
    bytes.push(1);
    fs::write(&path, bytes).expect("written");
    open(&path);
    for file in fs::read_dir(room.path()).expect("it is there") {
        let file = file.expect("it is there");
        let mode = file.metadata().expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.path().display());
    }
}

#[test]
fn a_full_disk_refuses_the_event_and_keeps_the_rest() {
    let room = room();
    let path = room.path().join("ledger");
    let (mut ledger, _) = open(&path);
    ledger.append(&begun(1)).expect("it is written");
    let before = (fs::read(&path).expect("it is there"), ledger.state.clone());
    for left in 0..40 {
        let space = make_small(&mut ledger, left, true);
        let refused = ledger.append(&begun(2)).expect_err("it does not fit");
        assert!(matches!(refused, LedgerError::Full(_)), "{refused}");
        assert_eq!(
            (fs::read(&path).expect("it is there"), ledger.state.clone()),
            before
        );
        space.store(1 << 20, Ordering::Relaxed);
        assert!(!ledger.broken);
    }
    ledger.append(&begun(2)).expect("there is room again");
    drop(ledger);
    let (ledger, opening) = open(&path);
    assert_eq!((opening.set_aside, ledger.state.claims().len()), (None, 2));
}

#[test]
fn a_disk_that_fails_to_sync_stops_the_ledger() {
    let room = room();
    let path = room.path().join("ledger");
    let (mut ledger, _) = open(&path);
    ledger.append(&begun(1)).expect("it is written");
    make_small(&mut ledger, 1 << 20, false);
    let refused = ledger.append(&begun(2)).expect_err("it is not durable");
    assert!(matches!(refused, LedgerError::Io { .. }), "{refused}");
    assert!(matches!(ledger.append(&begun(3)), Err(LedgerError::Broken)));
    assert!(matches!(ledger.compact(), Err(LedgerError::Broken)));
    drop(ledger);
    assert_eq!(open(&path).0.state.claims().len(), 1);
}

#[test]
fn an_event_that_cannot_follow_is_not_written() {
    let room = room();
    let path = room.path().join("ledger");
    let (mut ledger, _) = open(&path);
    let before = fs::read(&path).expect("it is there");
    let refused = ledger
        .append(&run(5, RunEvent::Closed))
        .expect_err("nothing was claimed");
    assert!(matches!(refused, LedgerError::Illegal(_)), "{refused}");
    assert_eq!(fs::read(&path).expect("it is there"), before);
}

#[test]
fn an_event_beyond_the_limit_is_not_written() {
    let room = room();
    let (mut ledger, _) = open(&room.path().join("ledger"));
    let session = "x".repeat(MAX_PAYLOAD_BYTES);
    let event = Event::SessionKnown {
        run: crate::sample::run_id(1),
        session,
    };
    let refused = ledger.append(&event).expect_err("it is too large");
    assert!(matches!(refused, LedgerError::TooLarge { .. }), "{refused}");
}

#[test]
fn a_compaction_that_cannot_be_made_leaves_the_old_file_in_use() {
    let room = room();
    let path = room.path().join("ledger");
    let (mut ledger, _) = open(&path);
    ledger.append(&begun(1)).expect("it is written");
    fs::create_dir(beside(&path, "new")).expect("made");
    ledger.compact().expect_err("the name is taken");
    fs::remove_dir(beside(&path, "new")).expect("removed");
    ledger.append(&begun(2)).expect("it goes on");
    drop(ledger);
    assert_eq!(open(&path).0.state.claims().len(), 2);
}

/// What a death can leave at each instant of a compaction: no snapshot, a part of it, all of it, and then either file under
/// the name of the ledger, since a rename without a synced directory may be undone.
#[test]
fn a_compaction_that_dies_at_any_instant_changes_nothing() {
    let room = room();
    let path = room.path().join("ledger");
    let prefixes = write_story(&path);
    let state = &prefixes[prefixes.len() - 1].1;
    let old = fs::read(&path).expect("it is there");
    let (mut ledger, _) = open(&path);
    ledger.compact().expect("it compacts");
    drop(ledger);
    let new = fs::read(&path).expect("it is there");
    assert_ne!(old, new);
    let check = |case: String, ledger: &[u8], snapshot: Option<&[u8]>| {
        let path = room.path().join(&case);
        fs::write(&path, ledger).expect("written");
        if let Some(snapshot) = snapshot {
            fs::write(beside(&path, "new"), snapshot).expect("written");
        }
        let (mut ledger, opening) = open(&path);
        assert_eq!((&ledger.state, opening.set_aside), (state, None), "{case}");
        assert!(!beside(&path, "new").exists(), "{case}");
        ledger.append(&begun(77)).expect("it goes on");
        drop(ledger);
        let claims = open(&path).0.state.claims().len();
        assert_eq!(claims, state.claims().len() + 1, "{case}");
    };
    check("before".to_owned(), &old, None);
    for length in 0..=new.len() {
        check(format!("part-{length}"), &old, Some(&new[..length]));
    }
    check("renamed".to_owned(), &new, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_compacted_ledger_says_the_same(events in prop::collection::vec(any_event(), 0..60), at in 0_usize..60) {
        let room = room();
        let path = room.path().join("ledger");
        let (mut ledger, _) = open(&path);
        for (number, event) in events.iter().enumerate() {
            let _ = ledger.append(event);
            if number == at {
                let state = ledger.state.clone();
                ledger.compact().expect("it compacts");
                prop_assert_eq!(&ledger.state, &state);
            }
        }
        let state = ledger.state.clone();
        drop(ledger);
        let (ledger, opening) = open(&path);
        prop_assert_eq!(&ledger.state, &state);
        prop_assert_eq!(opening.set_aside, None);
    }
}
