//! Where a bench writes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tool::say;

/// A directory on the disk for temporary files, which goes with this.
pub(super) struct Directory(std::path::PathBuf);

impl Directory {
    pub(super) fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("cs-panel-bench-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_dir_all(path) {
        say(&format!("{} could not be removed: {error}", path.display()));
    }
}
