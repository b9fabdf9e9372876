//! A person's wish that the agent of an attempt stands still. It is noted in the state directory, so that it outlives daemons and is there
//! before the agent is; its shim carries it out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cs_model::{Epoch, RunId, Time};
use serde::{Deserialize, Serialize};

use crate::state::StateDir;

/// Who paused the agent of an attempt, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseNote {
    /// Who.
    pub by: String,
    /// Since when.
    pub since: Time,
    /// Why, for whoever asks.
    #[serde(default)]
    pub reason: Option<String>,
}

impl PauseNote {
    /// Reads the note of an attempt; nothing when nobody has paused it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(state: &StateDir, run: RunId, epoch: Epoch) -> io::Result<Option<Self>> {
        let path = state.pause_note(run, epoch);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| damaged(&path, &error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Notes it, durably. Whoever paused it first stays noted, and is returned.
    ///
    /// # Errors
    /// It cannot be written; nothing is noted then.
    pub fn write(&self, state: &StateDir, run: RunId, epoch: Epoch) -> io::Result<Option<Self>> {
        if let Some(earlier) = Self::read(state, run, epoch)? {
            return Ok(Some(earlier));
        }
        let path = state.pause_note(run, epoch);
        let aside = path.with_added_extension("new");
        let written = self.write_aside(&aside).and_then(|()| fs::rename(&aside, &path));
        if let Err(error) = written {
            // It is not there when it could not even be made.
            let _: io::Result<()> = fs::remove_file(&aside);
            return Err(error);
        }
        File::open(state.pauses())?.sync_all()?;
        Ok(None)
    }

    fn write_aside(&self, aside: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(aside)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()
    }

    /// Lets the note of an attempt that was cut short hold for the attempt that follows it, and says whether there was one: a person
    /// has not let it go on.
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn pass_on(state: &StateDir, run: RunId, epoch: Epoch) -> io::Result<bool> {
        let Some(next) = epoch.next() else {
            return Self::forget(state, run, epoch);
        };
        match fs::rename(state.pause_note(run, epoch), state.pause_note(run, next)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the note of an attempt away, and says whether there was one.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn forget(state: &StateDir, run: RunId, epoch: Epoch) -> io::Result<bool> {
        match fs::remove_file(state.pause_note(run, epoch)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn damaged(path: &Path, error: &serde_json::Error) -> io::Error {
    let text = format!(
        "the note {} of who paused it is damaged ({error}): remove the file, and say `cs-panel pause` or `cs-panel resume` for its card again",
        path.display()
    );
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_who_pauses_stays_noted_until_somebody_lets_it_go_on() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(temp.path()).expect("it can be made");
        let run = RunId::from_uuid("0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b".parse().expect("a uuid"));
        let (epoch, next) = (Epoch::new(1), Epoch::new(2));
        let note = |by: &str| PauseNote {
            by: by.to_owned(),
            since: Time::from_unix_micros(7),
            reason: None,
        };
        assert_eq!(PauseNote::read(&state, run, epoch).expect("readable"), None);
        assert_eq!(note("Ada").write(&state, run, epoch).expect("noted"), None);
        assert_eq!(
            note("Bob").write(&state, run, epoch).expect("noted"),
            Some(note("Ada"))
        );
        assert_eq!(
            PauseNote::read(&state, run, epoch).expect("readable"),
            Some(note("Ada"))
        );
        assert_eq!(PauseNote::read(&state, run, next).expect("readable"), None);
        assert!(PauseNote::pass_on(&state, run, epoch).expect("moved"));
        assert!(!PauseNote::pass_on(&state, run, epoch).expect("it is gone"));
        assert_eq!(PauseNote::read(&state, run, epoch).expect("readable"), None);
        assert_eq!(
            PauseNote::read(&state, run, next).expect("readable"),
            Some(note("Ada"))
        );
        note("Bob").write(&state, run, epoch).expect("noted");
        assert!(PauseNote::forget(&state, run, epoch).expect("removed"));
        assert!(!PauseNote::forget(&state, run, epoch).expect("it is gone"));
    }

    #[test]
    fn a_damaged_note_names_its_file_and_the_cure() {
        let temp = tempfile::tempdir().expect("a directory");
        let state = StateDir::open(temp.path()).expect("it can be made");
        let run = RunId::from_uuid("0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b".parse().expect("a uuid"));
        let epoch = Epoch::new(1);
        let note = PauseNote {
            by: "Ada".to_owned(),
            since: Time::from_unix_micros(7),
            reason: None,
        };
        let path = state.pause_note(run, epoch);
        fs::write(&path, "{").expect("written");
        let error = note
            .write(&state, run, epoch)
            .expect_err("it is damaged")
            .to_string();
        assert!(
            error.contains(&path.display().to_string()) && error.contains("remove the file"),
            "{error}"
        );
    }
}
