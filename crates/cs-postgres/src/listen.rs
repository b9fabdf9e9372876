//! Tells when somebody wrote to the record: LISTEN, with a proof that notifications arrive, and a reason when they do not.

use std::time::Duration;

use sqlx::postgres::PgListener;
use sqlx::{AssertSqlSafe, PgPool, Row};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::open::{connect, options, pool};
use crate::{OpenError, Settings};

/// How long the notification to ourselves may take.
const PROOF: Duration = Duration::from_secs(1);
/// After how long a silent connection is asked whether it is still there.
const SILENCE: Duration = Duration::from_secs(60);
/// How long that answer, and any other of the server, may take.
const ANSWER: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A pooler stays where it is: it is not asked every half minute.
const POOLER_PAUSE: Duration = Duration::from_secs(10 * 60);

/// What a listener tells.
#[derive(Debug)]
pub enum Heard {
    /// Notifications arrive from now on; what came before may have been missed, so everything is to be looked at once.
    Live,
    /// Somebody has written.
    Changed,
    /// Notifications do not arrive; until [`Live`](Self::Live) the record must be looked at from time to time.
    Silent(Silence),
}

/// Why notifications do not arrive. No text of it holds a password.
#[derive(Debug, thiserror::Error)]
pub enum Silence {
    /// The server answers, but what we told ourselves did not arrive.
    #[error(
        "notifications do not arrive, as behind a transaction pooler: give a URL that goes to the server itself to avoid polling"
    )]
    NotDelivered,
    /// The connection cannot be made.
    #[error(transparent)]
    NotConnected(#[from] OpenError),
    /// The connection was lost.
    #[error("the connection that listens was lost")]
    Lost(#[source] sqlx::Error),
}

/// Listens to the record, on two connections of its own: one hears, the other proves that it does.
#[derive(Debug)]
pub struct Listener {
    settings: Settings,
}

impl Listener {
    /// Makes a listener; it connects when it is run.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Listens until the receiver is dropped. It connects again after a pause that grows from 0.5 to 30 s (10 minutes behind a
    /// pooler), and says `Live` each time
    /// that it hears; it says `Silent` each time that it stops to hear or cannot begin to. A `Changed` that finds the receiver's
    /// queue full is left out: what is in the queue says the same.
    pub async fn run(self, heard: mpsc::Sender<Heard>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let silence = match self.begin().await {
                Ok(ear) => {
                    pause = FIRST_PAUSE;
                    if heard.send(Heard::Live).await.is_err() {
                        return;
                    }
                    tokio::select! {
                        silence = ear.hear(&heard) => silence,
                        () = heard.closed() => return,
                    }
                }
                Err(silence) => silence,
            };
            let rest = match silence {
                Silence::NotDelivered => POOLER_PAUSE,
                Silence::NotConnected(_) | Silence::Lost(_) => pause,
            };
            if heard.send(Heard::Silent(silence)).await.is_err() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = heard.closed() => return,
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Connects, listens and proves that a notification arrives that was sent on another connection: one of our own would come
    /// back even through a pooler.
    async fn begin(&self) -> Result<Ear, Silence> {
        // Nothing is set on these sessions, and all their statements are simple ones.
        let pool = pool(2).connect_lazy_with(options(&self.settings));
        let proven = timeout(ANSWER + ANSWER, listen(&pool)).await;
        match proven.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))) {
            Ok(Some(listener)) => Ok(Ear { listener }),
            Ok(None) => Err(Silence::NotDelivered),
            Err(sqlx::Error::PoolTimedOut) => Err(self.why_not_connected().await),
            Err(error) => Err(Silence::NotConnected(OpenError::of(&self.settings, error))),
        }
    }

    /// The pool only says that it waited in vain.
    async fn why_not_connected(&self) -> Silence {
        match connect(&self.settings).await {
            Err(error) => Silence::NotConnected(error),
            Ok(_) => Silence::Lost(sqlx::Error::PoolTimedOut),
        }
    }
}

/// Returns a listener that hears, or nothing when it does not. A transaction pooler would leave the channel behind on a session that
/// others get, whose notifications break them: so the proof is made on a channel that nobody else uses.
async fn listen(pool: &PgPool) -> Result<Option<PgListener>, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.ignore_pool_close_event(true);
    listener.eager_reconnect(false);
    let row = sqlx::raw_sql(include_str!("../queries/read_channels.sql"))
        .fetch_one(pool)
        .await?;
    let (channel, probe): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    listener.listen(&probe).await?;
    let told = sqlx::raw_sql(AssertSqlSafe(format!("notify {probe}")))
        .execute(pool)
        .await;
    match told {
        Ok(_) => {}
        // The pooler gave the session that listens to the one that tells.
        Err(sqlx::Error::Protocol(_)) => return Ok(None),
        Err(error) => return Err(error),
    }
    match timeout(PROOF, listener.try_recv()).await {
        Ok(Ok(Some(_))) => {}
        Ok(Ok(None)) | Err(_) => return Ok(None),
        Ok(Err(error)) => return Err(error),
    }
    listener.unlisten(&probe).await?;
    listener.listen(&channel).await?;
    Ok(Some(listener))
}

/// A connection that hears.
struct Ear {
    listener: PgListener,
}

impl Ear {
    /// Tells of every notification until the connection is lost, and returns why it was.
    async fn hear(mut self, heard: &mpsc::Sender<Heard>) -> Silence {
        loop {
            match timeout(SILENCE, self.listener.try_recv()).await {
                Ok(Ok(Some(_))) => {
                    while self.listener.next_buffered().is_some() {}
                    // A full queue has one already.
                    let _ = heard.try_send(Heard::Changed);
                }
                Ok(Ok(None)) => {
                    return Silence::Lost(sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()));
                }
                Ok(Err(error)) => return Silence::Lost(error),
                Err(_) => {
                    if let Err(error) = self.ask().await {
                        return Silence::Lost(error);
                    }
                }
            }
        }
    }

    /// Asks the server for a sign of life: a connection that was cut without a word is silent for ever.
    async fn ask(&mut self) -> Result<(), sqlx::Error> {
        let asked = timeout(ANSWER, sqlx::raw_sql("select 1").execute(&mut self.listener)).await;
        match asked {
            Ok(answered) => answered.map(drop),
            Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
        }
    }
}
