//! Nothing but the loopback: a network namespace, where one can be made.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test starts programs, and says why it cannot"
)]

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Brings the loopback of a new network namespace up, and becomes the program that its arguments name.
const BECOME: &str = "\
import fcntl, os, socket, struct, sys
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    name, flags = struct.unpack('16sh', fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack('16sh', b'lo', 0)))
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack('16sh', name, flags | IFF_UP))
os.execvp(sys.argv[1], sys.argv[1:])
";

/// Begins this program anew in a namespace; returns where none can be made.
pub(crate) fn begin_anew() {
    let ways: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];
    let inside = |way: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(way).args(["python3", "-c", BECOME]);
        command
    };
    for way in ways {
        let quiet = inside(way)
            .arg("true")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if quiet.is_ok_and(|status| status.success()) {
            let program = std::env::current_exe().expect("this program has a path");
            let args = std::env::args_os().skip(1);
            let error = inside(way).arg(program).args(args).arg("--isolated").exec();
            eprintln!("cannot begin anew in a network namespace: {error}");
        }
    }
}
