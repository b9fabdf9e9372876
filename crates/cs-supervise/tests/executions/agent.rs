//! The agent: carries out its arguments one after the other, and is as bad as they say.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process, setsid};

/// Whatever goes wrong in a test, nothing of it is left after this.
const LIFE: Duration = Duration::from_secs(120);

pub(crate) fn run(words: &[String]) {
    for word in words {
        let (verb, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || value.parse::<usize>().unwrap();
        match verb {
            "print" => say(format!("{value}\n").as_bytes()),
            "bytes" => say(&vec![b'x'; number()]),
            "pour" => pour(value, &[&[b'x'; 8191][..], b"\n"].concat(), b""),
            "line" => pour(value, &[b'x'; 65_536], b"\n{\"ok\":1}\n"),
            "lines" => {
                for line in 0..number() {
                    say(format!("{line}\n").as_bytes());
                    pause(Duration::from_millis(5));
                }
            }
            "environment" => say(&fs::read("/proc/self/environ").unwrap()),
            "where" => say(format!("{}\n", fs::read_link("/proc/self/cwd").unwrap().display()).as_bytes()),
            "descriptors" => say(format!("{:?}\n", descriptors()).as_bytes()),
            "count-stdin" => {
                let mut bytes = Vec::new();
                std::io::stdin().read_to_end(&mut bytes).unwrap();
                say(format!("{}\n", bytes.len()).as_bytes());
            }
            "session" => drop(setsid().unwrap()),
            "once" => drop(fs::File::create_new(value).unwrap()),
            "await" => await_file(Path::new(value)),
            "spawn" => spawn(value),
            "descend" => descend(value),
            "as-root" => as_root(value),
            "hop" => hop(),
            "stop-self" => kill_process(getpid(), Signal::STOP).unwrap(),
            "sleep" => pause(LIFE),
            "exit" => exit(value),
            _ => panic!("unknown verb {word}"),
        }
    }
}

fn say(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).unwrap();
    out.flush().unwrap();
}

/// Writes so many bytes of a pattern and then an end, `BYTES:FILE`, and tells in the file how many nanoseconds that took, and the
/// longest write of it.
fn pour(value: &str, pattern: &[u8], end: &[u8]) {
    let (bytes, file) = value.split_once(':').unwrap();
    let mut left = bytes.parse::<usize>().unwrap();
    let out = rustix::stdio::stdout();
    let mut longest = Duration::ZERO;
    let mut write = |mut bytes: &[u8]| {
        let begun = Instant::now();
        while !bytes.is_empty() {
            bytes = &bytes[rustix::io::write(out, bytes).unwrap()..];
        }
        longest = longest.max(begun.elapsed());
    };
    let begun = Instant::now();
    while left > 0 {
        let count = left.min(pattern.len());
        write(&pattern[..count]);
        left -= count;
    }
    write(end);
    let told = format!("{} {}", begun.elapsed().as_nanos(), longest.as_nanos());
    let aside = Path::new(file).with_extension("new");
    fs::write(&aside, told).unwrap();
    fs::rename(aside, file).unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "this process passes time, that is its job"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn descriptors() -> Vec<String> {
    let mut open: Vec<_> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), fs::read_link(&path).ok()?)))
        .filter(|(_, target)| !target.starts_with("/proc"))
        .map(|(name, _)| name)
        .collect();
    open.sort();
    open
}

fn await_file(path: &Path) {
    let limit = Instant::now() + LIFE;
    while !path.exists() {
        assert!(Instant::now() < limit, "{} never came", path.display());
        pause(Duration::from_millis(5));
    }
}

/// A command for this binary as an agent that ignores what would end it politely.
#[expect(
    clippy::disallowed_methods,
    reason = "an agent starts processes without asking"
)]
fn deaf(words: &[String]) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(r#"trap "" TERM INT HUP; exec "$0" agent "$@""#);
    command
        .arg(std::env::current_exe().unwrap())
        .args(words)
        .stdin(Stdio::null());
    command
}

#[expect(clippy::zombie_processes, reason = "an agent does not care for its children")]
/// Starts a descendant `KIND:FILE`, and waits until it has written to the file who it is.
fn spawn(value: &str) {
    let (kind, file) = value.split_once(':').unwrap();
    let mut command = match kind {
        "plain" => deaf(&[format!("descend={file}")]),
        "setsid" => deaf(&[format!("descend=+{file}")]),
        "dfork" | "dfork-clean" => deaf(&[format!("spawn=setsid:{file}")]),
        "hop" => deaf(&["hop".to_owned()]),
        _ => panic!("unknown kind {kind}"),
    };
    if kind == "dfork-clean" {
        command.env_clear();
    }
    let mut child = command.spawn().unwrap();
    if kind.starts_with("dfork") {
        // The middle one ends, and its child is an orphan in a session of its own.
        child.wait().unwrap();
    }
    if kind != "hop" {
        await_file(Path::new(file));
    }
}

/// Starts, through a `setpriv` that belongs to root and runs as root, a process of root: `PROGRAM:FILE`.
fn as_root(value: &str) {
    let (program, file) = value.split_once(':').unwrap();
    let script = format!(
        "echo $$ > {file}.new; mv {file}.new {file}; exec sleep {}",
        LIFE.as_secs()
    );
    #[expect(
        clippy::disallowed_methods,
        reason = "an agent starts processes without asking"
    )]
    let mut command = Command::new(program);
    command
        .args(["--reuid=0", "--regid=0", "--clear-groups", "sh", "-c", &script])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null());
    #[expect(clippy::zombie_processes, reason = "an agent does not care for its children")]
    let _child = command.spawn().unwrap();
    await_file(Path::new(file));
}

#[expect(clippy::exit, reason = "an agent ends when and how it wants")]
fn exit(value: &str) {
    std::process::exit(value.parse().unwrap())
}

/// A descendant: writes its pid and lives on. With a `+` it gets a session of its own first.
fn descend(value: &str) {
    let file = match value.strip_prefix('+') {
        Some(file) => {
            setsid().unwrap();
            PathBuf::from(file)
        }
        None => PathBuf::from(value),
    };
    let aside = file.with_extension("new");
    fs::write(&aside, getpid().to_string()).unwrap();
    fs::rename(aside, file).unwrap();
    pause(LIFE);
}

#[expect(clippy::zombie_processes, reason = "who hops does not look back")]
/// Changes its pid as fast as it can, and its session every time.
fn hop() {
    if let Err(error) = setsid() {
        say(format!("{error}\n").as_bytes());
    }
    #[expect(clippy::disallowed_methods, reason = "how one hop tells the next when to end")]
    let deadline =
        std::env::var_os("HOP_UNTIL").map_or_else(far, |until| until.into_string().unwrap().parse().unwrap());
    if boot_seconds() < deadline {
        deaf(&["hop".to_owned()])
            .env("HOP_UNTIL", deadline.to_string())
            .spawn()
            .unwrap();
    }
}

fn far() -> f64 {
    boot_seconds() + LIFE.as_secs_f64()
}

fn boot_seconds() -> f64 {
    fs::read_to_string("/proc/uptime")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}
