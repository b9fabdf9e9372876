//! The machine itself, which starts anew now and then and has room on its disk or not.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use cs_daemon::{Host, Probed};
use cs_harness::AgentConfig;
use cs_supervise::{Noted, Proof, UntracedEnd};

use crate::machine::Machine;

/// A machine as its daemon sees it.
#[derive(Debug)]
pub(crate) struct SimHost(pub(crate) Arc<Machine>);

#[async_trait]
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

    /// Nobody removes the directory of an execution here.
    async fn end_untraced(&self, _: Noted) -> io::Result<UntracedEnd> {
        Ok(UntracedEnd {
            found: Vec::new(),
            survivors: Vec::new(),
            proof: Some(Proof::SweepClean),
        })
    }

    /// Its agents are no programs.
    async fn probe(&self, _: &AgentConfig, _: &[(OsString, OsString)], _: &str) -> Probed {
        Probed::default()
    }
}
