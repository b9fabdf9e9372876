//! The record as a daemon reaches it: over a connection that loses, doubles and delays.

mod attempts;
mod claims;
mod reads;
mod settle;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use cs_record::RecordError;
use tokio::time::sleep;

use crate::machine::Seat;

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
        if seat.world.is_away() {
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
                let pause = seat
                    .world
                    .dice
                    .span(Duration::from_millis(1), Duration::from_secs(240));
                let request = request();
                seat.world.later(async move {
                    sleep(pause).await;
                    drop(request.await);
                });
                Err(lost())
            }
        };
        seat.world.delay().await;
        seat.come_to(what).await;
        answer
    }

    fn fate(&self, what: &'static str) -> Fate {
        let world = &self.0.world;
        let profile = &world.profile;
        let fates = [
            (profile.lost, Fate::Lost, "request lost"),
            (profile.unanswered, Fate::Unanswered, "answer lost"),
            (profile.twice, Fate::Twice, "request doubled"),
            (profile.late, Fate::Late, "request late"),
        ];
        for (rate, fate, kind) in fates {
            if world.happens(rate) {
                world.fault(kind, format_args!("machine {} {what}", self.0.machine.index));
                return fate;
            }
        }
        Fate::Arrives
    }
}
