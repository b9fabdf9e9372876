//! Redirects: an owner at work to whom a person has said something is ended, so that its next attempt takes what was said
//! (OW-14 to OW-17).
//!
//! Nothing is claimed here: the take needs the former agent gone, and comes in a later pass. Whether an attempt is to be redirected is on
//! the record, so a daemon that dies in between finds it there again; what it is told to do twice it does once.

use cs_record::{Peeked, RecordError};

use super::Daemon;
use crate::admission::Admission;
use crate::executions::StopLevel;

impl Daemon {
    /// Ends the owners in flight to whom a person has said something since they began, where their next attempt may start then. Only
    /// the very attempt is ended (AF-10).
    pub(super) async fn redirect(&self, peeked: &Peeked) -> Result<(), RecordError> {
        for redirect in peeked.redirects.iter().filter(|redirect| redirect.is_due) {
            let flight = self.flights.get(&redirect.run);
            let Some(flight) = flight.filter(|flight| flight.epoch == redirect.epoch) else {
                continue;
            };
            if flight.stop.is_asked(StopLevel::Redirect)
                || self.cx.admission(redirect.codebase).await? != Admission::Open
            {
                continue;
            }
            self.cx.said(&format!(
                "run {} attempt {} of card {} is ended: a new message came while it worked; its next attempt goes on with it",
                redirect.run.short(),
                redirect.epoch,
                redirect.card.short()
            ));
            flight.stop.raise(StopLevel::Redirect);
        }
        Ok(())
    }
}
