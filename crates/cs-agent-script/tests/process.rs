//! The scripted agent as a process: the example of this crate is run, in a directory of its own.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const START: &str =
    r#"{"type":"start","protocol":1,"wake":"first","prompt":"go","session":null,"answer":null}"#;
const RESUMED: &str = r#"{"type":"start","wake":"answer","prompt":"go","session":"s1","answer":{"question":"q","text":"blue"}}"#;

#[expect(
    clippy::disallowed_methods,
    reason = "the test asks where it runs, and starts the program under test"
)]
fn agent() -> Command {
    let test = std::env::current_exe().expect("the test's own path");
    let target = test
        .parent()
        .and_then(Path::parent)
        .expect("the target directory");
    let example = target.join("examples/scripted_agent");
    assert!(
        example.exists(),
        "the example is not built: run the tests of the package without `--test`"
    );
    let mut command = Command::new(example);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

struct Scene {
    dir: TempDir,
    children: Vec<Pid>,
}

impl Scene {
    fn new(script: &Value) -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() {
            TempDir::new_in(memory)
        } else {
            TempDir::new()
        };
        let dir = dir.expect("a temporary directory");
        fs::write(dir.path().join("script.json"), script.to_string()).expect("the script is written");
        Self {
            dir,
            children: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn start(&self, input: &str) -> Child {
        let mut command = agent();
        // A file, as in production: what a script leaves running keeps it open, and nobody waits for that.
        let errors = File::create(self.path("stderr")).expect("a file for standard error");
        command
            .arg("script.json")
            .current_dir(self.dir.path())
            .stderr(errors);
        let mut child = command.spawn().expect("the agent starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // An agent that refuses its script may be gone before it reads; its status tells.
        let _ = stdin.write_all(input.as_bytes());
        child
    }

    fn run(&self, input: &str) -> Output {
        self.start(input).wait_with_output().expect("the agent ends")
    }

    /// The process that a `spawn` step wrote down; ended with the scene.
    fn spawned(&mut self, pid_file: &str) -> Pid {
        let number = self.read(pid_file).trim().parse().expect("a process id");
        let pid = Pid::from_raw(number).expect("a process id");
        self.children.push(pid);
        pid
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for pid in &self.children {
            let _ = kill_process(*pid, Signal::KILL);
        }
    }
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into()))
        .collect()
}

#[test]
fn steps_are_carried_out_in_order() {
    let scene = Scene::new(&json!([
        {"when": "first", "steps": [
            {"say": "you said {prompt}"},
            {"progress": "working"},
            {"session": "s1"},
            {"usage": {"turns": 2}},
            {"write_file": {"path": "a/b.txt", "text": "one\n"}},
            {"append_file": {"path": "a/b.txt", "text": "{prompt}\n"}},
            {"touch": "c"}, {"touch": "d"}, {"delete_file": "d"},
            {"ask": {"question": "red?", "choices": ["yes"]}}]},
        {"when": "answer", "steps": [
            {"offer_landing": {"summary": "did it"}}, {"final": "{answer} in {session}"}]},
    ]));
    let first = scene.run(START);
    assert!(first.status.success(), "{first:?}");
    let expected = [
        json!("you said go"),
        json!({"type": "progress", "text": "working"}),
        json!({"type": "session", "id": "s1"}),
        json!({"type": "usage", "turns": 2, "input_tokens": 0, "output_tokens": 0}),
        json!({"type": "ask", "question": "red?", "choices": ["yes"]}),
    ];
    assert_eq!(lines(&first), expected);
    assert_eq!(scene.read("a/b.txt"), "one\ngo\n");
    assert!(scene.path("c").exists() && !scene.path("d").exists());
    let second = scene.run(RESUMED);
    let expected = [
        json!({"type": "offer_landing", "summary": "did it", "message": null}),
        json!({"type": "final", "text": "blue in s1"}),
    ];
    assert_eq!(lines(&second), expected);
}

#[test]
fn a_commit_needs_no_git_identity() {
    let scene = Scene::new(&json!([{"when": "first", "steps": [
        {"run": ["git", "init", "--quiet", "repo"]},
        {"run": ["sh", "-c", "test ! -e repo/x"]},
        {"write_file": {"path": "repo/x", "text": "x"}},
        {"run": ["git", "-C", "repo", "rev-parse", "--git-dir"]},
    ]}]));
    assert!(scene.run(START).status.success());
    let commit = json!([{"when": "first", "steps": [{"commit": "Add x"}]}]);
    fs::write(scene.path("repo/.git/script.json"), commit.to_string()).unwrap();
    let mut command = agent();
    let home = ("HOME", scene.dir.path());
    command
        .arg(".git/script.json")
        .current_dir(scene.path("repo"))
        .env(home.0, home.1);
    let output = command
        .stdin(Stdio::null())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let head = scene.read("repo/.git/logs/HEAD");
    assert!(
        head.contains("Scripted agent") && head.trim_end().ends_with("Add x"),
        "{head}"
    );
}

#[test]
fn a_failed_step_ends_the_script_with_1_and_says_which() {
    let scene = Scene::new(&json!([{"when": "any", "steps": [{"run": ["false"]}, {"touch": "after"}]}]));
    let output = scene.run(START);
    assert_eq!(output.status.code(), Some(1));
    let said = scene.read("stderr");
    assert!(said.contains("Run") && said.contains("false"), "{said}");
    assert!(!scene.path("after").exists());
}

#[test]
fn a_script_that_cannot_be_used_ends_with_2() {
    for script in [
        json!([{"when": "never", "steps": []}]),
        json!([{"when": "turn", "steps": []}]),
    ] {
        let output = Scene::new(&script).run(START);
        assert_eq!(output.status.code(), Some(2), "{script}");
    }
}

#[test]
fn odd_output_and_odd_exits_come_as_asked() {
    let scene = Scene::new(&json!([{"when": "any", "steps": [
        {"print_bytes": {"count": 100_000}}, {"print_bytes": {"count": 2, "newline": true}},
        "print_bad_utf8", {"exit": 7}, {"say": "never"}]}]));
    let output = scene.run("plain prompt");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout[..100_002], [b'x'; 100_002]);
    assert_eq!(output.stdout[100_002..], *b"\nbad \xff\xfe\xc3( bytes\n");
}

#[test]
fn spawned_processes_leave_their_parent_as_asked() {
    let spawn = |kind: &str| json!({"spawn": {"kind": kind, "seconds": 600, "pid_file": kind}});
    let kinds = ["plain", "setsid", "double_fork", "double_fork_clean"];
    let steps: Vec<Value> = kinds.iter().map(|kind| spawn(kind)).collect();
    let mut scene = Scene::new(&json!([{"when": "any", "steps": steps}]));
    let output = scene.run(START);
    assert!(output.status.success(), "{output:?}");
    let ours = session(&std::process::id().to_string());
    for kind in kinds {
        let pid = scene.spawned(kind);
        test_kill_process(pid).unwrap_or_else(|error| panic!("{kind} is gone: {error}"));
        let session = session(&pid.to_string());
        assert_eq!(session == ours, kind == "plain", "{kind}");
        // After a double fork the leader of the session has exited, so nobody can take a terminal again.
        assert_eq!(session == pid.to_string(), kind == "setsid", "{kind}");
    }
}

/// Returns the session of a process: `0` in a container whose session was begun outside of it, which `getsid` of rustix
/// takes for impossible.
fn session(pid: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process is there");
    let (_, after_name) = stat.rsplit_once(')').expect("a name stands in parentheses");
    let mut fields = after_name.split_ascii_whitespace();
    fields.nth(3).expect("the session follows").to_owned()
}

#[test]
fn ignored_signals_are_survived_and_a_file_ends_the_wait() {
    let scene = Scene::new(&json!([{"when": "any", "steps": [
        "ignore_signals", {"say": "ready {prompt}"}, {"touch": "ready"},
        {"wait": {"until_file": "go"}}, {"wait": {"ms": 1}}, {"final": "survived"}]}]));
    let child = scene.start(START);
    let pid = Pid::from_child(&child);
    wait_for(&scene.path("ready"));
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(pid, signal).unwrap();
    }
    fs::write(scene.path("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        lines(&output),
        [json!("ready go"), json!({"type": "final", "text": "survived"})]
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "looks for a file that another process makes; bounded by the runner"
)]
fn wait_for(path: &Path) {
    while !path.exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
