//! The machine itself, which starts anew now and then and has room on its disk or not.

use std::io;
use std::sync::Arc;

use cs_daemon::Host;

use crate::machine::Machine;

/// A machine as its daemon sees it.
#[derive(Debug)]
pub(crate) struct SimHost(pub(crate) Arc<Machine>);

impl Host for SimHost {
    fn boot_id(&self) -> io::Result<String> {
        Ok(self.0.boot_id())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(if self.0.is_full() { 0 } else { u64::MAX })
    }

    fn free_files(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn free_descriptors(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}
