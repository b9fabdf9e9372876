//! Who does something in a simulation, beside the daemons and their agents.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::people::{Asker, Person};
use crate::weather::Weather;
use crate::world::World;

/// Somebody who does something now and then.
#[async_trait]
pub(crate) trait Actor: fmt::Debug + Send {
    /// Does one thing, or nothing, while things go wrong.
    async fn act(&mut self, world: &Arc<World>);

    /// Ends what it began, and does what the product asks it for; nothing that brings to rest what should come to it by itself. It is
    /// called again and again once the faults have stopped.
    async fn settle(&mut self, world: &Arc<World>);
}

/// All actors, each as often as it is to come to its turn. Another one joins in here.
pub(crate) fn all() -> Vec<Box<dyn Actor>> {
    vec![
        Box::<Person>::default(),
        Box::<Person>::default(),
        Box::<Asker>::default(),
        Box::<Weather>::default(),
    ]
}
