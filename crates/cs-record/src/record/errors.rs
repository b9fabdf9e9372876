//! Errors of the store as errors of the ports.

use cs_fence::FenceError;
use cs_journal::ClaimError;
use cs_settle::SettleError;

use crate::{RecordError, StoreError};

macro_rules! port_errors {
    ($($port:ident),*) => { $(
        impl From<StoreError> for $port {
            fn from(error: StoreError) -> Self {
                match error {
                    StoreError::Corrupt(why) => Self::Corrupt(why),
                    StoreError::Unknown(source) | StoreError::Away(source) => Self::Away(source),
                    StoreError::Conflict => Self::Away(Box::new(error)),
                }
            }
        }
    )* };
}

port_errors!(ClaimError, FenceError, RecordError, SettleError);
