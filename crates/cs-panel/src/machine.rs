//! Who this machine is: an id that is made once, in its state directory.

use std::path::Path;

use cs_model::{IdSource, MachineId};
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::failure::Failure;

const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct MachineFile {
    version: u32,
    id: MachineId,
}

/// Reads the machine's id, or makes it. Two commands at once agree on one.
///
/// # Errors
/// The file cannot be read or written, or is not ours.
pub(crate) fn machine_id(file: &Path, ids: &dyn IdSource) -> Result<MachineId, Failure> {
    let dir = file.parent().unwrap_or(file);
    let _lock = disk::lock_dir(dir)?;
    if let Some(bytes) = disk::read_if_there(file)? {
        let known: MachineFile = serde_json::from_slice(&bytes).map_err(|error| {
            let cure =
                "expected the id of this machine as JSON; restore the file, or use another state directory";
            Failure::failed(error, format!("{} is not ours, {cure}", file.display()))
        })?;
        return Ok(known.id);
    }
    let made = MachineFile {
        version: VERSION,
        id: MachineId::from_uuid(ids.uuid_v7()),
    };
    let text = serde_json::to_vec(&made)
        .map_err(|error| Failure::failed(error, "the id of this machine cannot be written"))?;
    disk::replace(file, &text)?;
    Ok(made.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::SystemIds;

    #[test]
    fn the_id_is_made_once_even_by_many_at_once() {
        let temp = tempfile::tempdir().expect("a directory");
        let file = temp.path().join("machine.json");
        let all: Vec<MachineId> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| machine_id(&file, &SystemIds)))
                .collect();
            threads
                .into_iter()
                .map(|one| one.join().expect("no panic").expect("an id"))
                .collect()
        });
        assert!(all.iter().all(|id| *id == all[0]), "{all:?}");
    }

    #[test]
    fn a_file_that_is_not_ours_is_left_alone() {
        let temp = tempfile::tempdir().expect("a directory");
        let file = temp.path().join("machine.json");
        std::fs::write(&file, "hello").expect("written");
        let error = machine_id(&file, &SystemIds)
            .expect_err("not ours")
            .text()
            .unwrap_or_default();
        assert!(error.contains("machine.json is not ours"), "{error}");
        assert_eq!(std::fs::read(&file).expect("there"), b"hello");
    }
}
