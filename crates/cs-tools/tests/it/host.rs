//! A host that writes down what it is asked for, and a daemon that can die.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cs_model::{AskId, Epoch, RunId};
use cs_tools::*;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use uuid::Uuid;

pub(crate) const TOKEN: &str = "a token of this attempt";

/// What happened in the record. A row under an id is written once.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) asks: Vec<(AskId, Question)>,
    pub(crate) offers: Vec<(AskId, Offer)>,
    pub(crate) progress: Vec<String>,
    pub(crate) answers: Vec<(CallId, Answer)>,
}

#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) rows: Mutex<Rows>,
    pub(crate) standing: Mutex<Result<Standing, HostError>>,
    /// So many acts are done whose answer nobody gets: the daemon dies between the two.
    pub(crate) dies_after: Mutex<u32>,
    /// Whether it breaks in the middle of a look at the run.
    pub(crate) breaks: Mutex<bool>,
}

impl Memory {
    fn die(&self) -> Result<(), HostError> {
        let mut left = self.dies_after.lock().unwrap();
        if *left == 0 {
            return Ok(());
        }
        *left -= 1;
        Err(HostError::NotNow("the record is gone".to_owned()))
    }
}

#[async_trait]
impl Host for Memory {
    async fn standing(&self, _: &Caller) -> Result<Standing, HostError> {
        self.standing.lock().unwrap().clone()
    }

    async fn ask(&self, _: &Caller, id: AskId, question: &Question) -> Result<(), HostError> {
        let asks = &mut self.rows.lock().unwrap().asks;
        if asks.iter().all(|(known, _)| *known != id) {
            asks.push((id, question.clone()));
        }
        self.die()
    }

    async fn offer_landing(&self, _: &Caller, id: AskId, offer: &Offer) -> Result<(), HostError> {
        let offers = &mut self.rows.lock().unwrap().offers;
        if offers.iter().all(|(known, _)| *known != id) {
            offers.push((id, offer.clone()));
        }
        self.die()
    }

    async fn report_progress(&self, _: &Caller, text: &str) -> Result<(), HostError> {
        self.rows.lock().unwrap().progress.push(text.to_owned());
        Ok(())
    }

    async fn show(&self, _: &Caller, what: &Shown) -> Result<String, HostError> {
        match what {
            Shown::Run if *self.breaks.lock().unwrap() => panic!("a fault in the host"),
            Shown::Attachment(name) => Err(HostError::Refused(format!("there is no attachment `{name}`"))),
            other => Ok(format!("{other:?}")),
        }
    }

    async fn secret(&self, _: &Caller, name: &str) -> Result<String, HostError> {
        Ok(format!("the value of {name}"))
    }

    async fn last_landing(&self, _: &Caller) -> Result<String, HostError> {
        Ok("There is nothing to recover.".to_owned())
    }

    async fn recall(&self, _: &Caller, id: &CallId) -> Result<Option<Answer>, HostError> {
        let answers = &self.rows.lock().unwrap().answers;
        let known = answers.iter().find(|(known, _)| known == id);
        Ok(known.map(|(_, answer)| answer.clone()))
    }

    async fn keep(&self, _: &Caller, id: &CallId, answer: &Answer) -> Result<(), HostError> {
        self.rows
            .lock()
            .unwrap()
            .answers
            .push((id.clone(), answer.clone()));
        Ok(())
    }
}

/// Who may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// This process.
    Us,
    /// A process that is not this one.
    Another,
    /// The processes of a user that we are not.
    AnotherUser,
}

impl Peers for Gate {
    fn belongs(&self, _: &Caller, peer: Peer) -> bool {
        let is_us = peer.pid == i32::try_from(std::process::id()).unwrap();
        match self {
            Self::Us => is_us,
            Self::Another => !is_us,
            Self::AnotherUser => is_us && peer.uid == u32::MAX,
        }
    }
}

impl Sockets for Gate {
    fn belongs(&self, _: &Caller, connection: Connection) -> bool {
        assert!(connection.from.ip().is_loopback() && connection.from.port() != connection.to.port());
        match self {
            Self::Us => true,
            Self::Another | Self::AnotherUser => false,
        }
    }
}

/// The way to the socket of a place.
#[derive(Debug)]
pub(crate) struct Way(pub(crate) PathBuf);

#[async_trait]
impl Dial for Way {
    async fn dial(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.0).await
    }
}

/// A place for an attempt.
pub(crate) struct Place {
    dir: TempDir,
    pub(crate) host: Arc<Memory>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("token"), TOKEN).unwrap();
        let host = Memory {
            rows: Mutex::default(),
            standing: Mutex::new(Ok(Standing::Current)),
            dies_after: Mutex::new(0),
            breaks: Mutex::new(false),
        };
        Self {
            dir,
            host: Arc::new(host),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn caller() -> Caller {
        Caller {
            run: RunId::from_uuid(Uuid::from_u128(7)),
            epoch: Epoch::new(2),
        }
    }

    /// Whether nothing is written down.
    pub(crate) fn is_untouched(&self) -> bool {
        let rows = self.host.rows.lock().unwrap();
        rows.asks.is_empty() && rows.offers.is_empty() && rows.progress.is_empty()
    }

    pub(crate) fn attempted() -> Attempted {
        Attempted {
            caller: Self::caller(),
            token: TOKEN.to_owned(),
        }
    }

    pub(crate) fn door(&self, gate: Gate) -> Door {
        let of = Self::attempted();
        let tools = Tools::new(self.host.clone());
        let path = self.path("socket");
        // The daemon before may have left its own.
        let _ = std::fs::remove_file(&path);
        Door::new(UnixListener::bind(path).unwrap(), of, tools, Arc::new(gate))
    }

    /// A daemon that lives until the handle is aborted.
    pub(crate) fn daemon(&self) -> JoinHandle<()> {
        let door = self.door(Gate::Us);
        tokio::spawn(async move {
            door.serve().await;
        })
    }
}
