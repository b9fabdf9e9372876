//! The record as a daemon reaches it: over a connection that loses, doubles and delays.

mod attempts;
mod claims;
mod reads;
mod settle;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cs_record::RecordError;
use tokio::task::unconstrained;
use tokio::time::sleep;

use crate::coverage::{Way, weight};
use crate::invariant::{Deed, Event, Write};
use crate::machine::Seat;
use crate::weather::lose_ledger;

/// The record, as one daemon reaches it.
#[derive(Debug)]
pub(crate) struct Remote(pub(crate) Seat);

/// A request on its way.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What happens to a request.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Arrives,
    Lost,
    Unanswered,
    Twice,
    Late,
}

/// The cause of every loss.
pub(crate) fn lost() -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(io::Error::other("the connection was lost"))
}

/// What most of the record's ports say of it.
pub(crate) fn away() -> RecordError {
    RecordError::Away(lost())
}

impl Remote {
    /// Sends a request on its way, whatever becomes of it. It is made again for each time that it arrives.
    pub(crate) async fn send<T, E>(
        &self,
        what: &'static str,
        lost: fn() -> E,
        request: impl Fn() -> Boxed<Result<T, E>>,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let seat = &self.0;
        seat.come_to(what).await;
        seat.world.delay().await;
        if seat.world.is_away() || (!seat.world.is_calm() && seat.machine.is_cut_off()) {
            return Err(lost());
        }
        let answer = match self.fate(what) {
            Fate::Arrives => request().await,
            Fate::Lost => Err(lost()),
            Fate::Unanswered => {
                drop(request().await);
                Err(lost())
            }
            Fate::Twice => {
                drop(request().await);
                request().await
            }
            Fate::Late => {
                let most = *seat.world.dice.pick(&[40, 240]).unwrap_or(&240);
                let pause = seat
                    .world
                    .dice
                    .span(Duration::from_millis(1), Duration::from_secs(most));
                if seat.world.profile.spite && matches!(what, "claim" | "settle landing") {
                    lose_ledger(&seat.world, &seat.machine);
                }
                let request = request();
                seat.world.later(async move {
                    sleep(pause).await;
                    drop(request.await);
                });
                Err(lost())
            }
        };
        seat.world.delay().await;
        seat.come_back(what).await;
        answer
    }

    /// Sends a write on its way, and shows the invariants each time what it has really changed.
    pub(crate) async fn write<T, E>(
        &self,
        what: &'static str,
        lost: fn() -> E,
        request: impl Fn() -> Boxed<Result<T, E>>,
        deed: impl Fn(&T) -> Deed + Clone + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let send = || {
            let (world, machine) = (Arc::clone(&self.0.world), self.0.machine.index);
            let (request, deed) = (request(), deed.clone());
            Box::pin(async move {
                let before = Box::new(world.store.rows().unwrap_or_default());
                // Nothing else happens in between.
                let answer = unconstrained(request).await;
                let deed = answer.as_ref().ok().map(deed);
                world.see(&Event::Wrote(Write {
                    machine,
                    deed,
                    before,
                }));
                answer
            }) as Boxed<_>
        };
        self.send(what, lost, send).await
    }

    /// Answers a call that no daemon makes; one that does is to be simulated.
    pub(crate) fn nobody_asks<T>(&self, what: &'static str) -> Result<T, RecordError> {
        self.0.world.fail("every call is simulated", what.to_owned());
        Err(away())
    }

    fn fate(&self, what: &'static str) -> Fate {
        let world = &self.0.world;
        let profile = &world.profile;
        if profile.spite && what == "settle landing" && world.happens(2_500) {
            world.draw(what, Way::Late, self.0.machine.index);
            return Fate::Late;
        }
        let fates = [
            (profile.lost, Fate::Lost, Way::RequestLost),
            (profile.unanswered, Fate::Unanswered, Way::AnswerLost),
            (profile.twice, Fate::Twice, Way::Twice),
            (profile.late, Fate::Late, Way::Late),
        ];
        for (rate, fate, way) in fates {
            if world.happens(rate * weight(what)) {
                world.draw(what, way, self.0.machine.index);
                return fate;
            }
        }
        Fate::Arrives
    }
}
