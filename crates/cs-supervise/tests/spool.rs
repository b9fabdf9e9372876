//! Following spools and keeping transcripts.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_supervise::{
    Followed, Follower, Record, SpoolOffsets, SpoolWindow, Transcript, TranscriptError, TranscriptReader,
};

struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("file")
    }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

fn record(followed: Followed) -> Record {
    match followed {
        Followed::Record(record) => record,
        Followed::Truncated { offset } => panic!("cut at {offset}"),
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_line_is_returned_once_it_is_whole_and_the_offset_resumes_after_it() {
    let scratch = Scratch::new();
    append(&scratch.file(), b"one\ntw");
    let mut follower = Follower::open(&scratch.file(), 0, 100).unwrap();
    assert_eq!(record(soon(follower.next()).await.unwrap()).bytes, b"one");
    assert_eq!(follower.offset(), 4);
    // Waiting for the rest is given up and taken up again: nothing is lost.
    assert!(
        tokio::time::timeout(Duration::from_millis(50), follower.next())
            .await
            .is_err()
    );
    append(&scratch.file(), b"o\r\nthree");
    let second = record(soon(follower.next()).await.unwrap());
    assert_eq!(
        (second.bytes.as_slice(), second.offset, second.end_offset),
        (&b"two"[..], 4, 9)
    );
    let last = record(soon(follower.drain()).await.unwrap().unwrap());
    assert_eq!((last.bytes.as_slice(), last.terminated), (&b"three"[..], false));
    assert_eq!(soon(follower.drain()).await.unwrap(), None);

    let mut resumed = Follower::open(&scratch.file(), 9, 100).unwrap();
    assert_eq!(
        record(soon(resumed.drain()).await.unwrap().unwrap()).bytes,
        b"three"
    );
}

#[tokio::test]
async fn an_append_wakes_the_follower() {
    let scratch = Scratch::new();
    append(&scratch.file(), b"");
    let mut follower = Follower::open(&scratch.file(), 0, 100).unwrap();
    let path = scratch.file();
    let (followed, ()) =
        soon(async { tokio::join!(follower.next(), async { append(&path, b"here\n") }) }).await;
    assert_eq!(record(followed.unwrap()).bytes, b"here");
}

#[tokio::test]
async fn a_huge_line_costs_its_cap_and_the_next_one_is_intact() {
    const LINE_BYTES: u64 = 200_000_000;
    let scratch = Scratch::new();
    let file = File::create(scratch.file()).unwrap();
    file.set_len(LINE_BYTES).unwrap();
    append(&scratch.file(), b"\n{\"ok\":1}\n");
    let mut follower = Follower::open(&scratch.file(), 0, 1000).unwrap();
    let huge = record(soon(follower.next()).await.unwrap());
    assert_eq!((huge.bytes.len(), huge.dropped_bytes), (1000, LINE_BYTES - 1000));
    assert_eq!(record(soon(follower.next()).await.unwrap()).bytes, br#"{"ok":1}"#);
}

#[tokio::test]
async fn the_disk_of_a_line_beyond_its_cap_is_given_back_and_a_later_follower_reads_the_same() {
    const WINDOW: SpoolWindow = SpoolWindow {
        head_bytes: 100_000,
        tail_bytes: 1_000_000,
    };
    let scratch = Scratch::new();
    append(&scratch.file(), b"first\n");
    let mut follower = Follower::open(&scratch.file(), 0, 200_000)
        .unwrap()
        .giving_back(WINDOW);
    assert_eq!(record(soon(follower.next()).await.unwrap()).bytes, b"first");
    let blocks_bytes = || fs::metadata(scratch.file()).unwrap().blocks() * 512;
    soon(async {
        for _ in 0..80 {
            append(&scratch.file(), &[b'x'; 250_000]);
            loop {
                // The line has no end yet: there is nothing to return.
                let read = tokio::time::timeout(Duration::from_millis(5), follower.next()).await;
                assert!(read.is_err());
                if blocks_bytes() < 2_000_000 {
                    break;
                }
            }
        }
    })
    .await;
    append(&scratch.file(), b"\r\n{\"ok\":1}\n");
    let huge = record(soon(follower.next()).await.unwrap());
    assert_eq!(huge.bytes, vec![b'x'; 200_000]);
    assert_eq!(huge.dropped_bytes, 20_000_000 - 200_000);
    assert_eq!(record(soon(follower.next()).await.unwrap()).bytes, br#"{"ok":1}"#);
    let mut later = Follower::open(&scratch.file(), 6, 200_000).unwrap();
    assert_eq!(record(soon(later.next()).await.unwrap()), huge);
}

#[tokio::test]
async fn a_spool_that_was_cut_is_said_and_read_again() {
    let scratch = Scratch::new();
    append(&scratch.file(), b"first\nsecond\n");
    let mut follower = Follower::open(&scratch.file(), 0, 100).unwrap();
    assert_eq!(record(soon(follower.next()).await.unwrap()).bytes, b"first");
    assert_eq!(record(soon(follower.next()).await.unwrap()).bytes, b"second");
    File::create(scratch.file()).unwrap();
    append(&scratch.file(), b"new\n");
    assert_eq!(
        soon(follower.next()).await.unwrap(),
        Followed::Truncated { offset: 13 }
    );
    assert_eq!(record(soon(follower.next()).await.unwrap()).bytes, b"new");
    // So is one whose offset was kept from before.
    let mut late = Follower::open(&scratch.file(), 13, 100).unwrap();
    assert_eq!(
        soon(late.next()).await.unwrap(),
        Followed::Truncated { offset: 13 }
    );
}

fn reached(stdout: u64) -> SpoolOffsets {
    SpoolOffsets { stdout, stderr: 1 }
}

fn read_all(path: &Path) -> Vec<(u64, String)> {
    let mut reader = TranscriptReader::<String>::open(path).unwrap();
    std::iter::from_fn(|| reader.next_ready().unwrap())
        .map(|line| (line.index, line.event))
        .collect()
}

#[tokio::test]
async fn a_transcript_resumes_where_its_last_whole_append_ended() {
    let scratch = Scratch::new();
    let (mut transcript, fresh) = Transcript::open(&scratch.file()).unwrap();
    assert_eq!((fresh.lines, fresh.reached), (0, SpoolOffsets::default()));
    transcript.append(&["a", "b"], reached(10)).unwrap();
    transcript.append(&["c"], reached(20)).unwrap();
    drop(transcript);
    let whole = fs::read(scratch.file()).unwrap();
    let first = whole.len() - br#"{"event":"c","reached":{"stdout":20,"stderr":1}}"#.len() - 1;
    // Whatever byte a crash tears the file at, an append is there or it is not.
    for length in 0..=whole.len() {
        fs::write(scratch.file(), &whole[..length]).unwrap();
        let (_, resumed) = Transcript::open(&scratch.file()).unwrap();
        let (lines, stdout, kept) = match length {
            _ if length == whole.len() => (3, 20, whole.len()),
            _ if length >= first => (2, 10, first),
            _ => (0, 0, 0),
        };
        assert_eq!(
            (resumed.lines, resumed.reached.stdout),
            (lines, stdout),
            "torn at {length}"
        );
        assert_eq!(resumed.cut_bytes, (length - kept) as u64);
        assert_eq!(fs::metadata(scratch.file()).unwrap().len(), kept as u64);
    }
}

#[tokio::test]
async fn readers_see_whole_appends_only_and_go_on_after_a_cut() {
    let scratch = Scratch::new();
    let (mut transcript, _) = Transcript::open(&scratch.file()).unwrap();
    transcript.append(&["a"], reached(1)).unwrap();
    append(&scratch.file(), b"{\"event\":\"torn\"}\n{\"eve");
    let mut reader = TranscriptReader::<String>::open(&scratch.file()).unwrap();
    assert_eq!(reader.next_ready().unwrap().unwrap().event, "a");
    assert_eq!(reader.next_ready().unwrap(), None);
    drop(transcript);
    let (mut transcript, _) = Transcript::open(&scratch.file()).unwrap();
    let (line, ()) = soon(async {
        tokio::join!(reader.next(), async {
            transcript.append(&["b", "c"], reached(2)).unwrap()
        })
    })
    .await;
    let line = line.unwrap();
    assert_eq!((line.index, line.event.as_str()), (1, "b"));
    assert_eq!(read_all(&scratch.file()).last().unwrap(), &(2, "c".to_owned()));
}

#[test]
fn a_transcript_is_waited_for_while_its_last_append_ends() {
    let scratch = Scratch::new();
    let (transcript, _) = Transcript::open(&scratch.file()).unwrap();
    let busy = Transcript::open_within(&scratch.file(), Duration::ZERO);
    assert!(matches!(busy, Err(TranscriptError::InUse { .. })), "{busy:?}");
    std::thread::scope(|scope| {
        let next = scope.spawn(|| Transcript::open_within(&scratch.file(), Duration::from_secs(60)));
        drop(transcript);
        next.join().unwrap().unwrap();
    });
}

#[tokio::test]
async fn a_transcript_has_one_writer() {
    let scratch = Scratch::new();
    let (_transcript, _) = Transcript::open(&scratch.file()).unwrap();
    assert!(matches!(
        Transcript::open(&scratch.file()),
        Err(TranscriptError::InUse { .. })
    ));
}
