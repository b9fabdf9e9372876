use std::fs::File;
use std::os::unix::fs::FileExt;

use cs_harness::{AgentConfig, FailureCause, HarnessKind, ProcessEnd, TaskEnd, adapter};

use super::super::batch::BATCH_MAX_BYTES;
use super::*;

/// Each of them as an event of its own would take some forty times as much.
#[tokio::test]
async fn short_lines_take_no_more_than_twice_their_disk_in_a_transcript_and_no_more_than_its_limit() {
    const LINES: usize = 100_000;
    let scratch = tempfile::tempdir().expect("a directory");
    let agent = AgentConfig::new("talker", vec!["talker".to_owned()], HarnessKind::Plain);
    let agent = adapter(&agent.expect("an agent"));
    for (most_bytes, longest) in [(None, 4 * LINES as u64), (Some(64 << 10), 80 << 10)] {
        let name = format!("execution-{longest}");
        let dir = ExecutionDir::create(scratch.path().join(name)).expect("made");
        std::fs::write(dir.stdout_spool(), "x\n".repeat(LINES)).expect("written");
        let mut output = Output::open(&dir, agent.as_ref()).await.expect("opened");
        output.bound = Bound::new(most_bytes);
        output.drain().await.expect("read");
        let kept = std::fs::read_to_string(dir.transcript()).expect("kept");
        assert!(
            (kept.len() as u64) < longest,
            "{} bytes for {LINES} lines",
            kept.len()
        );
        assert_eq!(
            kept.matches("is not kept").count(),
            usize::from(most_bytes.is_some())
        );
        assert_eq!(
            output.seen.text().lines().filter(|line| *line == "x").count(),
            LINES
        );
    }
}

/// Nobody reads while no daemon runs: what the next one holds of it must not grow with it.
#[tokio::test]
async fn what_an_agent_left_is_read_in_batches_of_few_bytes_however_long_its_lines_are() {
    const LINES: u64 = 300;
    const LINE_BYTES: u64 = 4_000_000;
    let scratch = tempfile::tempdir().expect("a directory");
    let dir = ExecutionDir::create(scratch.path().join("execution")).expect("made");
    // The lines are holes that end, so they take no disk.
    let spool = File::create(dir.stdout_spool()).expect("made");
    for line in 1..=LINES {
        spool.write_all_at(b"\n", line * LINE_BYTES - 1).expect("written");
    }
    let agent = AgentConfig::new("talker", vec!["talker".to_owned()], HarnessKind::Plain);
    let agent = adapter(&agent.expect("an agent"));
    let mut output = Output::open(&dir, agent.as_ref()).await.expect("opened");
    let (mut lines, mut most) = (0, 0);
    loop {
        let batch = output.rest().await.expect("read");
        if batch.is_empty() {
            break;
        }
        most = most.max(batch.bytes());
        lines += batch.into_parts().len();
    }
    assert_eq!(lines as u64, LINES);
    // A line may have up to twice the room that it needs.
    assert!(
        most < BATCH_MAX_BYTES + 2 * LINE_MAX_BYTES,
        "{most} bytes were held at once"
    );
}

/// What an agent of each kind says of a task that it has done, its last line apart.
const SAID: [(HarnessKind, &str, &str); 6] = [
    (
        HarnessKind::Claude,
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","terminal_reason":"completed"}"#,
    ),
    (
        HarnessKind::Codex,
        "{\"type\":\"thread.started\",\"thread_id\":\"s\"}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Done.\"}}",
        r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#,
    ),
    (
        HarnessKind::Opencode,
        "{\"type\":\"step_start\",\"sessionID\":\"s\",\"part\":{}}\n{\"type\":\"text\",\"sessionID\":\"s\",\"part\":{\"type\":\"text\",\"text\":\"Done.\"}}",
        r#"{"type":"step_finish","sessionID":"s","part":{"type":"step-finish","reason":"stop"}}"#,
    ),
    (
        HarnessKind::Pi,
        "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"turn_start\"}",
        r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}"#,
    ),
    (
        HarnessKind::JsonLines,
        r#"{"type":"session","id":"s"}"#,
        r#"{"type":"final","text":"Done."}"#,
    ),
    (
        HarnessKind::Acp,
        "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"said\",\"text\":\"Done.\"}",
        r#"{"type":"end","ok":true}"#,
    ),
];

/// A place for an execution, and its agent.
struct Place {
    _scratch: tempfile::TempDir,
    dir: ExecutionDir,
    agent: std::sync::Arc<dyn Harness>,
}

impl Place {
    fn of(kind: HarnessKind) -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let dir = ExecutionDir::create(scratch.path().join("execution")).expect("made");
        let agent = AgentConfig::new("talker", vec!["talker".to_owned()], kind);
        Self {
            _scratch: scratch,
            dir,
            agent: adapter(&agent.expect("an agent")),
        }
    }

    /// Reads what it said to the end, batch by batch, and says how much was held at once.
    async fn read(&self) -> (Seen, usize) {
        let mut output = Output::open(&self.dir, self.agent.as_ref())
            .await
            .expect("opened");
        let mut most = 0;
        loop {
            let batch = output.rest().await.expect("read");
            if batch.is_empty() {
                return (output.seen, most);
            }
            most = most.max(batch.bytes());
            output.keep(batch).await.expect("kept");
        }
    }

    fn came_of(&self, seen: &Seen) -> TaskEnd {
        self.agent.outcome(&ProcessEnd::Exited(0), seen).task
    }
}

const ENDLESS: u64 = 100_000_000;

/// Writes what was said before, a line of 100 MB that is a hole in most of it, and what is said after it.
fn write_around_an_endless_line(spool: &Path, before: &str, after: &str) {
    let file = File::create(spool).expect("made");
    let begun = format!("{before}\n{{\"type\":\"odd\",\"x\":\"");
    file.write_all_at(begun.as_bytes(), 0).expect("written");
    let end = begun.len() as u64 + ENDLESS;
    file.write_all_at(after.as_bytes(), end).expect("written");
    file.set_len(end + after.len() as u64).expect("written");
}

fn is_done(task: &TaskEnd) -> bool {
    matches!(task, TaskEnd::Answered { text } if text == "Done.")
}

#[tokio::test]
async fn a_line_of_100_mb_is_not_held_and_hides_nothing_of_any_agent() {
    for (kind, before, last) in SAID {
        let place = Place::of(kind);
        write_around_an_endless_line(&place.dir.stdout_spool(), before, &format!("\"}}\n{last}\n"));
        let (seen, most) = place.read().await;
        let task = place.came_of(&seen);
        assert!(is_done(&task), "{kind}: {task:?}");
        assert_eq!((seen.session(), seen.unknown_count()), (Some("s"), 1), "{kind}");
        assert!(
            most < BATCH_MAX_BYTES + 2 * LINE_MAX_BYTES,
            "{kind}: {most} bytes"
        );
        let kept = std::fs::metadata(place.dir.transcript()).expect("kept").len();
        assert!(kept < 64 << 10, "{kind}: {kept} bytes are kept");
        // Another daemon reads what is kept.
        assert_eq!(place.read().await, (seen, 0), "{kind}");
    }
}

#[tokio::test]
async fn a_line_of_100_mb_that_never_ends_is_no_success_of_any_agent() {
    for (kind, before, _) in SAID {
        let place = Place::of(kind);
        write_around_an_endless_line(&place.dir.stdout_spool(), before, "");
        let (seen, most) = place.read().await;
        let task = place.came_of(&seen);
        let is_half = matches!(&task, TaskEnd::Failed { cause, .. } if *cause == FailureCause::HalfLine);
        assert!(is_half, "{kind}: {task:?}");
        assert!(
            most < BATCH_MAX_BYTES + 2 * LINE_MAX_BYTES,
            "{kind}: {most} bytes"
        );
    }
}

#[tokio::test]
async fn half_a_last_line_is_no_success_of_any_agent() {
    for (kind, before, last) in SAID {
        for cut in [1, last.len() / 2, last.len() - 1] {
            let place = Place::of(kind);
            let said = format!("{before}\n{}", &last[..cut]);
            std::fs::write(place.dir.stdout_spool(), said).expect("written");
            let (seen, _) = place.read().await;
            let task = place.came_of(&seen);
            let is_half = matches!(&task, TaskEnd::Failed { cause, .. } if *cause == FailureCause::HalfLine);
            assert!(is_half, "{kind}, {cut} bytes: {task:?}");
        }
    }
}

#[tokio::test]
async fn a_flood_of_messages_that_nobody_knows_is_counted_and_its_beginning_kept() {
    const FLOOD: usize = 30_000;
    for (kind, before, last) in SAID {
        let place = Place::of(kind);
        let odd = "{\"type\":\"odd\"}\n".repeat(FLOOD);
        std::fs::write(place.dir.stdout_spool(), format!("{before}\n{odd}{last}\n")).expect("written");
        let (seen, _) = place.read().await;
        assert!(is_done(&place.came_of(&seen)), "{kind}");
        assert_eq!(seen.unknown_count(), FLOOD as u64, "{kind}");
        let kept = std::fs::metadata(place.dir.transcript()).expect("kept").len();
        assert!(kept < 256 << 10, "{kind}: {kept} bytes are kept");
        assert_eq!(
            place.read().await.0,
            seen,
            "{kind}: what is read again is the same"
        );
    }
}
