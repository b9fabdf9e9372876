//! Much of something: a line that does not end, and many executions at once.

use std::fs;

use libtest_mimic::Trial;

use crate::support::{Scratch, read_when_there, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "s11_a_line_of_64_mb_costs_its_cap_and_the_event_after_it_is_read",
            long_line,
        ),
        trial(
            "s11_who_reads_such_a_line_whole_needs_as_much_memory",
            long_line_whole,
        ),
        trial(
            "s15_forty_executions_at_once_leave_no_descriptor_no_zombie_and_no_directory_without_a_verdict",
            crowd,
        ),
    ]
}

/// What a process of its own says of itself: its high-water mark must be its own.
async fn told_by_daemon(scratch: &Scratch, station: &str, words: &[String]) -> String {
    let daemon = scratch.spawn_daemon(station, words);
    let told = read_when_there(&scratch.path("execution.station")).await;
    drop(daemon);
    told
}

const LINE_BYTES: u64 = 64_000_000;

async fn long_line(scratch: Scratch) {
    let agent = [
        format!("line={LINE_BYTES}:{}", scratch.text("report")),
        "sleep".into(),
    ];
    let told = told_by_daemon(&scratch, "follow-line", &agent).await;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["next"], r#"{"ok":1}"#);
    assert_eq!(told["dropped"], LINE_BYTES - crate::daemon::CAP_BYTES);
    let at_most = |name: &str, most: u64| {
        let bytes = told[name].as_u64().unwrap();
        assert!(bytes > 0 && bytes <= most, "{name}: {bytes}");
    };
    at_most("follower", 32_000_000);
    at_most("shim", 32_000_000);
    // The head, the tail and its eighth, the part of the line that is kept.
    at_most("spool", 12_000_000);
    assert!(fs::metadata(scratch.dir.stdout_spool()).unwrap().len() > LINE_BYTES);
}

/// Shows that the test above can fail.
async fn long_line_whole(scratch: Scratch) {
    let agent = [
        format!("line={LINE_BYTES}:{}", scratch.text("report")),
        "sleep".into(),
    ];
    let told = told_by_daemon(&scratch, "read-line-whole", &agent).await;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["next"], r#"{"ok":1}"#);
    assert!(told["follower"].as_u64().unwrap() > LINE_BYTES, "{told}");
    assert!(told["spool"].as_u64().unwrap() >= LINE_BYTES, "{told}");
}

async fn crowd(scratch: Scratch) {
    assert_eq!(
        told_by_daemon(&scratch, "crowd", &["40".to_owned()]).await,
        "tidy"
    );
}
