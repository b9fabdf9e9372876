//! What cannot be killed is named, and stays on record until it is gone or a person has dismissed it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cs_supervise::{AgentExit, DismissError, ExecutionDir, Proof, StopRequest, Verdict, survey};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::support::{
    LIMIT, Scratch, in_group, is_alive, read_when_there, say_not_tested, trial, until, words,
};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_process_of_another_user_survives_and_is_named_until_it_is_dismissed",
            dismissed,
        ),
        trial("a_process_that_survived_is_ended_by_who_may", ended_by_root),
        in_group(
            "a_process_of_another_user_in_the_control_group_is_ended_with_it",
            ended_by_group,
        ),
        trial(
            "what_runs_cannot_be_dismissed_and_what_is_proven_stays_so",
            not_dismissed,
        ),
    ]
}

const NOBODY: u32 = 65534;

/// An execution of `nobody` that has left a process of root behind, which its shim could not kill.
struct Left {
    /// On a disk: in memory no program may run as its owner.
    root: tempfile::TempDir,
    program: PathBuf,
    pid: i32,
}

impl Left {
    fn prepare() -> Option<(Self, String)> {
        let setpriv = Path::new("/usr/bin/setpriv");
        if !geteuid().is_root() || !setpriv.exists() {
            say_not_tested("it takes root and setpriv to leave a process behind that cannot be killed");
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        chown(root.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let program = root.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let as_root = root.path().join("as-root");
        fs::copy(setpriv, &as_root).unwrap();
        fs::set_permissions(&as_root, fs::Permissions::from_mode(0o4755)).unwrap();
        let left = Self {
            root,
            program,
            pid: 0,
        };
        if !left.becomes_root(&as_root) {
            say_not_tested("no program may run as its owner in the directory for temporary files");
            return None;
        }
        let spawn = format!("as-root={}:{}", as_root.display(), left.pid_file().display());
        Some((left, spawn))
    }

    async fn behind() -> Option<Self> {
        let (mut left, spawn) = Self::prepare()?;
        let said = left
            .daemon("closed", &[vec![spawn], words(&["exit=0"])].concat())
            .await;
        assert_eq!(said, "Exited(0) None");
        left.read_pid().await;
        assert!(is_alive(left.pid));
        Some(left)
    }

    fn pid_file(&self) -> PathBuf {
        self.root.path().join("pid")
    }

    async fn read_pid(&mut self) {
        self.pid = read_when_there(&self.pid_file()).await.trim().parse().unwrap();
    }

    fn becomes_root(&self, as_root: &Path) -> bool {
        #[expect(clippy::disallowed_methods, reason = "a question to the system")]
        let mut command = Command::new(as_root);
        let asked = command
            .args(["--reuid=0", "true"])
            .uid(NOBODY)
            .gid(NOBODY)
            .status();
        asked.is_ok_and(|status| status.success())
    }

    fn dir(&self) -> ExecutionDir {
        ExecutionDir::at(self.root.path().join("execution"))
    }

    /// Runs a daemon of `nobody` to its end; returns what it says.
    async fn daemon(&self, station: &str, agent: &[String]) -> String {
        #[expect(clippy::disallowed_methods, reason = "a daemon of another user")]
        let mut command = Command::new(&self.program);
        command
            .arg("daemon")
            .arg(station)
            .arg(self.dir().path())
            .args(agent);
        command.uid(NOBODY).gid(NOBODY).env_clear().current_dir("/");
        let mut daemon = command.stdin(Stdio::null()).spawn().unwrap();
        assert!(daemon.wait().unwrap().success());
        fs::read_to_string(self.dir().path().with_extension("station")).unwrap()
    }

    fn closed_file(&self) -> String {
        fs::read_to_string(self.dir().path().join("closed.json")).unwrap()
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|pid| is_alive(pid.as_raw_nonzero().get())) {
            kill_process(pid, Signal::KILL).unwrap();
        }
    }
}

async fn dismissed(_scratch: Scratch) {
    let Some(left) = Left::behind().await else { return };
    let named = format!("\"pid\":{},", left.pid);
    assert!(left.closed_file().contains(&named), "{}", left.closed_file());
    assert!(
        left.closed_file().contains(r#""proof":null"#),
        "{}",
        left.closed_file()
    );
    // It has no cookie that `nobody` could read, and may be on no list: it is known because it was named.
    fs::write(left.dir().path().join("descendants.json"), r#"{"processes":[]}"#).unwrap();
    assert_eq!(left.daemon("dismiss", &[]).await, "false true None");
    assert!(is_alive(left.pid));
    assert!(left.closed_file().contains(&named), "{}", left.closed_file());
}

async fn ended_by_root(_scratch: Scratch) {
    let Some(left) = Left::behind().await else { return };
    let verdict = survey(&left.dir(), LIMIT).await.unwrap();
    let Verdict::ShimDiedClosing(closed) = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(
        (closed.exit, closed.proof),
        (AgentExit::Exited(0), Some(Proof::SweepClean))
    );
    assert!(!is_alive(left.pid));
}

/// A control group that `nobody` may make others in.
struct Delegated(PathBuf);

impl Delegated {
    fn below(parent: &Path) -> Self {
        let group = Self(parent.join(format!("cs-panel-test-{}", std::process::id())));
        fs::create_dir(&group.0).unwrap();
        for file in ["", "cgroup.procs"] {
            chown(group.0.join(file), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        group
    }
}

async fn ended_by_group(scratch: Scratch) {
    let Some((mut left, spawn)) = Left::prepare() else {
        return;
    };
    let probe = scratch.start(&words(&["sleep"])).await;
    let delegated = Delegated::below(scratch.group().unwrap().parent().unwrap());
    probe.stop(StopRequest::FORCE).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "a daemon of another user, in a group")]
    let mut command = Command::new("/bin/sh");
    let enter = "echo $$ > \"$0/cgroup.procs\" && \
                 exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
    command.args(["-c", enter]).arg(&delegated.0).arg(&left.program);
    command.args(["daemon", "closed-in-group"]).arg(left.dir().path());
    command.args([spawn.as_str(), "exit=0"]).current_dir("/");
    let mut daemon = command.stdin(Stdio::null()).spawn().unwrap();
    assert!(daemon.wait().unwrap().success());
    let said = fs::read_to_string(left.dir().path().with_extension("station")).unwrap();
    left.read_pid().await;
    // The shim could not signal it; the kernel has ended it with its group.
    assert_eq!(said, "Exited(0) Some(CgroupEmpty)");
    assert!(!is_alive(left.pid));
    until("the shim has left the group", || {
        fs::remove_dir(&delegated.0).is_ok()
    })
    .await;
}

async fn not_dismissed(scratch: Scratch) {
    let error = cs_supervise::dismiss(&scratch.dir).await.unwrap_err();
    assert!(matches!(error, DismissError::NotFound { .. }), "{error:?}");
    let running = scratch.start(&words(&["sleep"])).await;
    let error = cs_supervise::dismiss(&scratch.dir).await.unwrap_err();
    assert!(matches!(error, DismissError::Alive { .. }), "{error:?}");
    assert!(running.agent().is_alive());
    let closed = running.stop(StopRequest::FORCE).await.unwrap();
    assert_eq!(cs_supervise::dismiss(&scratch.dir).await.unwrap(), closed);
}
