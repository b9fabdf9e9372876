//! What the benches that read agents share.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

pub(crate) type Done<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// A shorter line than this would be held whole.
pub(crate) const LONG_LINE_MIN_BYTES: usize = 20_000_000;

/// What the bench was asked to do.
pub(crate) fn words() -> Vec<String> {
    let given = std::env::args().skip(1);
    given.filter(|given| given != "--bench").collect()
}

/// Runs this binary in another role to its end, and returns what it prints.
#[expect(
    clippy::disallowed_methods,
    reason = "a process of the bench, which starts nothing"
)]
pub(crate) fn role(words: &[&str]) -> Done<String> {
    let output = std::process::Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("`{}` ended with {}", words.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The most memory that this process ever occupied.
pub(crate) fn most_bytes() -> Done<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.ok_or("the kernel does not tell")?;
    Ok(kib.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// How many milliseconds of processor this takes, in all threads of this process.
pub(crate) fn processor_millis<T>(work: impl FnOnce() -> Done<T>) -> Done<(T, f64)> {
    let spent = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let before = Duration::try_from(spent())?;
    let done = work()?;
    let after = Duration::try_from(spent())?;
    Ok((done, (after - before).as_secs_f64() * 1_000.0))
}

pub(crate) fn text(path: &Path) -> Done<&str> {
    Ok(path.to_str().ok_or("the directory's name is no text")?)
}
