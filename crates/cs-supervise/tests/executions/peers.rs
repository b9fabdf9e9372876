//! Who may answer in a shim's place, and whom a shim answers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cs_supervise::{ExecutionDir, StopRequest, Verdict, survey};
use libtest_mimic::Trial;
use rustix::process::geteuid;
use serde_json::json;

use crate::raw;
use crate::support::{Scratch, read_when_there, say_not_tested, spec_of, trial, until, words};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "another_users_process_in_a_shims_place_is_foreign_whatever_it_says",
            anothers_shim,
        ),
        trial(
            "a_process_of_this_user_that_says_the_same_is_taken_for_the_shim",
            own_shim,
        ),
        trial("a_shim_says_nothing_to_another_user", anothers_client),
        trial("a_shim_says_nothing_without_its_nonce", without_nonce),
    ]
}

pub(crate) const NOBODY: u32 = 65534;

/// Where another user can come to this program and to a directory: on a disk, and open.
pub(crate) struct Open {
    pub(crate) root: tempfile::TempDir,
}

impl Open {
    pub(crate) fn new() -> Option<Self> {
        if !geteuid().is_root() {
            say_not_tested("it takes root to be another user");
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = root.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { root })
    }

    pub(crate) fn as_nobody(&self, words: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a process of another user")]
        let mut command = Command::new(self.root.path().join("program"));
        command
            .args(words)
            .uid(NOBODY)
            .gid(NOBODY)
            .env_clear()
            .current_dir("/");
        command.stdin(Stdio::null());
        command
    }
}

/// Ends with its test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// `impostor DIR`: holds the lock of an execution, listens at its socket, and says to everybody that it waits for its GO.
pub(crate) fn impostor(words: &[String]) {
    let dir = Path::new(&words[0]);
    let lock = fs::File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let listener = UnixListener::bind(dir.join("sock")).unwrap();
    // Whoever may connect to it may.
    fs::set_permissions(dir.join("sock"), fs::Permissions::from_mode(0o666)).unwrap();
    let ident = raw::read(&dir.join("ident.json"));
    fs::write(dir.join("up"), "").unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        if raw::receive(&mut stream).is_ok() {
            let welcome = json!({"type": "welcome", "ident": ident, "phase": {"phase": "held"}});
            raw::send(&mut stream, &welcome).unwrap_or_default();
        }
    }
}

/// A directory as a shim that waits has it, but without the shim.
async fn model(scratch: &Scratch, dir: &Path) -> ExecutionDir {
    let model = scratch.below("model");
    model.start(&words(&["exit=0"])).await.closed().await.unwrap();
    let dir = ExecutionDir::create(dir).unwrap();
    for file in ["spec.json", "ident.json"] {
        fs::copy(model.dir.path().join(file), dir.path().join(file)).unwrap();
    }
    dir
}

async fn anothers_shim(scratch: Scratch) {
    let Some(open) = Open::new() else { return };
    let dir = model(&scratch, &open.root.path().join("execution")).await;
    for entry in fs::read_dir(dir.path()).unwrap() {
        chown(entry.unwrap().path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let impostor = open
        .as_nobody(&["impostor", dir.path().to_str().unwrap()])
        .spawn();
    let _impostor = Ends(impostor.unwrap());
    read_when_there(&dir.path().join("up")).await;
    let verdict = survey(&dir, Duration::from_secs(20)).await.unwrap();
    assert!(matches!(verdict, Verdict::ForeignShim), "{verdict:?}");
    assert!(!dir.path().join("closed.json").exists());
}

/// Shows that the test above can fail: only its user tells the impostor from the shim.
async fn own_shim(scratch: Scratch) {
    let dir = model(&scratch, scratch.dir.path()).await;
    #[expect(clippy::disallowed_methods, reason = "a process that is no shim")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    let impostor = command
        .arg("impostor")
        .arg(dir.path())
        .stdin(Stdio::null())
        .spawn();
    let _impostor = Ends(impostor.unwrap());
    read_when_there(&dir.path().join("up")).await;
    let verdict = survey(&dir, Duration::from_secs(20)).await.unwrap();
    assert!(matches!(verdict, Verdict::Waiting(_)), "{verdict:?}");
}

/// `knock SOCKET NONCE`: says hello, and prints what it hears.
pub(crate) fn knock(words: &[String]) {
    #[expect(clippy::print_stdout, reason = "its answer to the test")]
    fn tell(heard: &str) {
        println!("{heard}");
    }
    let mut stream = UnixStream::connect(&words[0]).unwrap();
    let hello = json!({"type": "hello", "protocol": {"major": 1, "minor": 0}, "nonce": words[1]});
    // A shim that does not talk to us may have hung up before.
    raw::send(&mut stream, &hello).unwrap_or_default();
    match raw::receive(&mut stream) {
        Ok(said) => tell(&format!("{} {}", said["type"], said["reason"])),
        Err(_) => tell("nothing"),
    }
}

fn heard(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn anothers_client(scratch: Scratch) {
    let Some(open) = Open::new() else { return };
    let live = Scratch::on(open.root.path());
    let running = live.start(&words(&["sleep"])).await;
    let (socket, nonce) = (live.dir.path().join("sock"), nonce(&live));
    // The modes of files would keep it away before it comes to the shim.
    for (path, mode) in [
        (live.dir.path().parent().unwrap(), 0o755),
        (live.dir.path(), 0o755),
        (&socket, 0o666),
    ] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let knock = ["knock", socket.to_str().unwrap(), &nonce];
    assert_eq!(heard(open.as_nobody(&knock)), "nothing");
    // Shows that the line above can fail.
    #[expect(clippy::disallowed_methods, reason = "a client of this user")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(knock);
    assert_eq!(heard(command), r#""welcome" null"#);
    running.stop(StopRequest::FORCE).await.unwrap();
    drop(scratch);
}

fn nonce(scratch: &Scratch) -> String {
    let spec = raw::read(&scratch.dir.path().join("spec.json"));
    spec["nonce"].as_str().unwrap().to_owned()
}

async fn without_nonce(scratch: Scratch) {
    let running = scratch.start_spec(&spec_of(&words(&["sleep"])), b"").await;
    let connect = || UnixStream::connect(scratch.dir.path().join("sock")).unwrap();
    let stop = json!({"type": "stop", "interrupt_grace_ms": 0, "terminate_grace_ms": 0});
    // Whoever does not know it cannot stop anything, nor who does not say hello.
    let mut stranger = connect();
    let hello = json!({"type": "hello", "protocol": {"major": 1, "minor": 1}, "nonce": "a guess"});
    raw::send(&mut stranger, &hello).unwrap();
    raw::send(&mut stranger, &stop).unwrap_or_default();
    let refused = json!({"type": "refused", "reason": "foreign"});
    assert_eq!(raw::receive(&mut stranger).unwrap(), refused);
    assert!(raw::receive(&mut stranger).is_err(), "it hung up");
    let mut silent = connect();
    raw::send(&mut silent, &stop).unwrap();
    assert_eq!(raw::receive(&mut silent).unwrap(), refused);
    // What is no message at all is not answered, and harms nobody else.
    let mut garbage = connect();
    std::io::Write::write_all(&mut garbage, &[0xff; 64]).unwrap();
    assert!(raw::receive(&mut garbage).is_err());
    assert!(running.agent().is_alive());
    let mut known = connect();
    let hello = json!({"type": "hello", "protocol": {"major": 1, "minor": 1}, "nonce": nonce(&scratch)});
    raw::send(&mut known, &hello).unwrap();
    assert_eq!(raw::receive(&mut known).unwrap()["type"], "welcome");
    raw::send(&mut known, &stop).unwrap();
    assert_eq!(raw::receive(&mut known).unwrap()["type"], "stopping");
    assert_eq!(raw::receive(&mut known).unwrap()["type"], "closed");
    until("the agent is dead", || !running.agent().is_alive()).await;
}
