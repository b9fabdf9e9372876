//! Waits for the record to change: the embedded one is files, and the kernel says when they are written; a server notifies.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_postgres::{Heard, Listener, Settings, Silence};
use cs_supervise::ChangeWatch;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::record::Place;

/// How often the record is looked at where nothing says that it changed.
const FALLBACK: Duration = Duration::from_secs(2);
/// What a listener may be ahead of us; more of it says nothing more.
const QUEUE: usize = 8;

/// Tells of writes to the record.
#[derive(Debug)]
pub(crate) struct RecordWatch {
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// SQLite appends to the log beside its file, which is there as long as a connection is.
    Log(ChangeWatch),
    /// A Postgres server notifies.
    Server(Ear),
    /// Nobody tells.
    Nobody,
}

/// A listener that runs as long as this is there.
#[derive(Debug)]
struct Ear {
    heard: mpsc::Receiver<Heard>,
    _running: JoinSet<()>,
    has_ended: bool,
    is_live: bool,
    silence: String,
}

impl RecordWatch {
    /// Begins to watch a record that this process has open.
    pub(crate) fn on(place: &Place) -> Self {
        let source = match place {
            Place::File(file) => Source::Log(ChangeWatch::on(&log_of(file))),
            Place::Server(settings) => Source::Server(Ear::on(Settings::clone(settings))),
        };
        Self { source }
    }

    /// Returns when something may have been written since the last call, or since the watch began; without a word of the record
    /// after 2 s. It tells once why there is no word. Cancel safe.
    pub(crate) async fn changed(&mut self, tell: impl Fn(&str)) {
        match &mut self.source {
            Source::Log(watch) => {
                if let Err(error) = watch.changed().await {
                    tracing::warn!(%error, "the record cannot be watched any more, looking at it every 2 s");
                    self.source = Source::Nobody;
                }
            }
            Source::Server(ear) => ear.changed(tell).await,
            Source::Nobody => tokio::time::sleep(FALLBACK).await,
        }
    }
}

impl Ear {
    fn on(settings: Settings) -> Self {
        let (sender, heard) = mpsc::channel(QUEUE);
        let mut running = JoinSet::new();
        running.spawn(Listener::new(settings).run(sender));
        Self {
            heard,
            _running: running,
            has_ended: false,
            is_live: false,
            silence: String::new(),
        }
    }

    async fn changed(&mut self, tell: impl Fn(&str)) {
        loop {
            let heard = tokio::select! {
                heard = self.heard.recv(), if !self.has_ended => heard,
                () = tokio::time::sleep(FALLBACK), if !self.is_live => return,
            };
            match heard {
                Some(Heard::Changed) => return,
                Some(Heard::Live) => {
                    self.is_live = true;
                    if !std::mem::take(&mut self.silence).is_empty() {
                        tell("the record tells of changes again");
                    }
                    return;
                }
                Some(Heard::Silent(silence)) => self.fall_silent(&silence, &tell),
                None => {
                    self.is_live = false;
                    self.has_ended = true;
                }
            }
        }
    }

    /// The same reason is told once.
    fn fall_silent(&mut self, silence: &Silence, tell: impl Fn(&str)) {
        self.is_live = false;
        let text = silence.to_string();
        if text != self.silence {
            tell(&format!("the record is looked at every 2 s: {text}"));
            self.silence = text;
        }
    }
}

fn log_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_write_is_told() {
        let temp = tempfile::tempdir().expect("a directory");
        let file = temp.path().join("record.db");
        std::fs::write(log_of(&file), "").expect("written");
        let mut watch = RecordWatch::on(&Place::File(file.clone()));
        std::fs::write(log_of(&file), "x").expect("written");
        tokio::time::timeout(Duration::from_secs(10), watch.changed(|_| {}))
            .await
            .expect("told");
    }
}
