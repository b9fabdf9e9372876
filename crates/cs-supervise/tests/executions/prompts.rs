//! S13: prompts that an agent reads late, in part or never.

use std::io::Write;
use std::process::{Command, Stdio};

use cs_supervise::{AgentExit, Limit, Limits, MAX_PROMPT_BYTES};
use libtest_mimic::Trial;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::ioctl_fionread;
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::Signal;

use crate::support::{Scratch, assert_closed, per_tier, shim_of, spec_of, trial, until, words};

pub(crate) fn trials() -> Vec<Trial> {
    let both = [
        per_tier("s13_an_agent_need_not_read_its_prompt", unread),
        per_tier("s13_an_agent_may_close_its_input_early", closed_early),
        per_tier("s13_an_agent_that_never_reads_is_ended_by_its_limit", never_read),
    ];
    let once = vec![
        trial(
            "s13_a_prompt_of_8_mb_and_as_much_output_before_it_is_read_do_not_block",
            large,
        ),
        trial(
            "s13_through_pipes_the_same_agent_and_its_starter_wait_for_each_other",
            deadlock,
        ),
    ];
    both.into_iter().flatten().chain(once).collect()
}

const LARGE: usize = 8_000_000;

fn talker() -> Vec<String> {
    words(&[&format!("bytes={LARGE}"), "print=", "count-stdin"])
}

async fn large(scratch: Scratch) {
    let mut running = scratch.start_spec(&spec_of(&talker()), &vec![b'p'; LARGE]).await;
    assert_eq!(running.closed().await.unwrap().exit, AgentExit::Exited(0));
    let out = scratch.stdout();
    assert_eq!(
        (out.len(), out.lines().last()),
        (LARGE + 9, Some(LARGE.to_string().as_str()))
    );
}

/// Shows that the test above can fail: with pipes in place of files neither comes to its end.
async fn deadlock(_scratch: Scratch) {
    #[expect(clippy::disallowed_methods, reason = "an agent as others start it")]
    let mut agent = Command::new(std::env::current_exe().unwrap())
        .arg("agent")
        .args(talker())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = agent.stdin.take().unwrap();
    fcntl_setfl(&stdin, fcntl_getfl(&stdin).unwrap() | OFlags::NONBLOCK).unwrap();
    let mut written = 0;
    let mut fill = || match stdin.write(&vec![b'p'; LARGE - written]) {
        Ok(count) => {
            written += count;
            written < LARGE
        }
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
            true
        }
    };
    assert!(fill());
    let stdout = agent.stdout.take().unwrap();
    let room = fcntl_getpipe_size(&stdout).unwrap() as u64;
    until("its output has no room", || {
        ioctl_fionread(&stdout).unwrap() == room
    })
    .await;
    assert!(fill(), "it has taken the whole prompt");
    assert!(agent.try_wait().unwrap().is_none());
    agent.kill().unwrap();
    agent.wait().unwrap();
}

async fn unread(scratch: Scratch) {
    let mut running = scratch
        .start_spec(&spec_of(&words(&["exit=0"])), &vec![b'p'; MAX_PROMPT_BYTES])
        .await;
    let closed = running.closed().await.unwrap();
    assert_eq!(closed.exit, AgentExit::Exited(0));
    assert_closed(&scratch, &closed);
}

async fn closed_early(scratch: Scratch) {
    let mut spec = spec_of(&[]);
    let script = "read -r first; exec <&-; echo $first; exit 5";
    spec.argv = vec!["sh".into(), "-c".into(), script.into()];
    let prompt = [b"first\n", vec![b'p'; MAX_PROMPT_BYTES - 6].as_slice()].concat();
    let mut running = scratch.start_spec(&spec, &prompt).await;
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, scratch.stdout().as_str()),
        (&AgentExit::Exited(5), "first\n")
    );
    assert_closed(&scratch, &closed);
}

async fn never_read(scratch: Scratch) {
    let mut spec = spec_of(&words(&["sleep"]));
    spec.limits = Limits {
        awake: Some(std::time::Duration::from_millis(300)),
        ..Limits::default()
    };
    let mut running = scratch.start_spec(&spec, &vec![b'p'; MAX_PROMPT_BYTES]).await;
    // Nothing was written into a pipe, so nothing could break: the shim waits for the end as ever.
    assert!(shim_of(&scratch).is_alive());
    let closed = running.closed().await.unwrap();
    assert_eq!(
        (&closed.exit, closed.limit),
        (&AgentExit::Signalled(Signal::INT.as_raw()), Some(Limit::Awake))
    );
    assert_closed(&scratch, &closed);
}
