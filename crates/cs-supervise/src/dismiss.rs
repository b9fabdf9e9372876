//! The way out of an end that cannot be proven.

use std::io;
use std::path::PathBuf;

use crate::closed::Closed;
use crate::dir::ExecutionDir;
use crate::settle;
use crate::survey::SurveyError;

/// Why an execution was not dismissed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DismissError {
    /// There is no such execution.
    #[error("there is no execution in {}", dir.display())]
    NotFound {
        /// The directory.
        dir: PathBuf,
    },
    /// Its shim lives: it runs, or is being closed at this moment. It must be stopped first.
    #[error("the execution in {} is not over; stop it first", dir.display())]
    Alive {
        /// The directory.
        dir: PathBuf,
    },
    /// What is left of it could not be established or written.
    #[error("what is left of the execution could not be established")]
    Survey(#[from] SurveyError),
}

/// Takes note that a person has looked after what is left of an execution whose stop was incomplete: it is over then, without a
/// proof, and its survivors stay named.
///
/// What is left is killed once more before, as far as it can be; should that prove the end, the proof is what is stored. To dismiss
/// what is over changes nothing. Durable on return.
///
/// # Errors
/// See [`DismissError`].
pub async fn dismiss(dir: &ExecutionDir) -> Result<Closed, DismissError> {
    let failed = |op| move |source| SurveyError::of(dir, op, source);
    if !dir.path().try_exists().map_err(failed("look for it"))? {
        return Err(DismissError::NotFound {
            dir: dir.path().to_path_buf(),
        });
    }
    let Some(lock) = dir.try_lock().map_err(failed("lock"))? else {
        return Err(DismissError::Alive {
            dir: dir.path().to_path_buf(),
        });
    };
    let there = dir.clone();
    let dismissed = tokio::task::spawn_blocking(move || settle::dismiss(&there, &lock)).await;
    let dismissed = dismissed.map_err(|error| failed("settle")(io::Error::other(error)))?;
    Ok(dismissed.map_err(failed("settle"))?)
}
