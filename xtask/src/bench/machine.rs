//! The machine that the figures belong to.

use std::path::Path;
use std::thread::available_parallelism;

use anyhow::{Context, Result};

/// Describes it in lines of a name and a value: processors, memory, kernel, and the file system of a directory.
pub(super) fn facts(data: &Path) -> Result<Vec<(String, String)>> {
    let cores = available_parallelism().context("the number of processors is not known")?;
    let memory = rustix::system::sysinfo();
    let memory_bytes = u128::from(memory.totalram) * u128::from(memory.mem_unit);
    let kernel = rustix::system::uname();
    let disk = rustix::fs::statfs(data).with_context(|| format!("cannot look at {}", data.display()))?;
    let fact = |name: &str, value: String| (name.to_owned(), value);
    Ok(vec![
        fact("cores", cores.to_string()),
        fact("memory", format!("{} GiB", memory_bytes >> 30)),
        fact(
            "kernel",
            format!(
                "{} {} {}",
                kernel.sysname().to_string_lossy(),
                kernel.release().to_string_lossy(),
                kernel.machine().to_string_lossy()
            ),
        ),
        fact(
            "file system of the data",
            file_system(u64::try_from(disk.f_type).unwrap_or(0)),
        ),
    ])
}

/// Names a file system by the number that the kernel gives it.
fn file_system(magic: u64) -> String {
    let name = match magic {
        0xEF53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683E => "btrfs",
        0x2FC1_2FC1 => "zfs",
        0x794C_7630 => "overlayfs",
        0x0102_1994 => "tmpfs, which is memory: what waits for the disk is not measured",
        other => return format!("of type {other:#x}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_no_disk_and_an_unknown_one_keeps_its_number() {
        assert!(file_system(0x0102_1994).contains("memory"));
        assert_eq!(file_system(0xEF53), "ext4");
        assert_eq!(file_system(0x6969), "of type 0x6969");
    }

    #[test]
    fn this_machine_has_all_facts() {
        let facts = facts(Path::new("/")).unwrap();
        assert_eq!(facts.len(), 4);
        assert!(facts.iter().all(|(_, value)| !value.is_empty()), "{facts:?}");
    }
}
