use cs_fence::TokenSeed;
use cs_journal::{ClaimedRun, Deps};
use cs_model::{Clock, IdSource, MachineId};
use cs_record::Record;
use cs_testkit::{MemorySecrets, MemoryStore, SeededIds, SetClock};
use tempfile::TempDir;

use super::*;
use crate::outcome::{AttemptOutcome, Spent, Task};

const VALUE: &str = "hunter22/+";

/// A machine with one attempt that is registered.
struct Desk {
    _dir: TempDir,
    store: Arc<MemorySecrets>,
    secrets: Secrets,
    ids: Arc<SeededIds>,
    key: SecretKey,
    run: RunId,
    epoch: Epoch,
}

impl Desk {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = Arc::new(SetClock::new());
        let ids = Arc::new(SeededIds::new(1, Arc::clone(&clock) as Arc<dyn Clock>));
        let state = StateDir::open(dir.path()).expect("opened");
        let deps = Deps {
            record: Arc::new(Record::new(MemoryStore::new(clock.clone()), ids.clone())),
            ids: ids.clone(),
            clock: clock.clone(),
            machine: MachineId::from_uuid(ids.uuid_v7()),
        };
        let (journal, _) = Journal::open(&state.ledger(), deps).expect("opened");
        let store = Arc::new(MemorySecrets::default());
        let row = ClaimedRun::first(&*ids, "mine", clock.now());
        let key = SecretKey {
            codebase: CodebaseId::from_uuid(ids.uuid_v7()),
            name: "TOKEN".parse().expect("a name"),
        };
        let desk = Self {
            _dir: dir,
            secrets: Secrets::new(store.clone(), journal, state),
            store,
            ids,
            key,
            run: row.run,
            epoch: row.epoch,
        };
        desk.begin(&row);
        desk.set(VALUE).await;
        desk
    }

    /// Brings the attempt to where something of it may run.
    fn begin(&self, row: &ClaimedRun) {
        let attempt = row.attempt(&TokenSeed::from_bytes([7; 32]));
        let claimed = self
            .secrets
            .journal
            .import(row, &attempt)
            .expect("durable")
            .expect("new");
        let prepared = claimed.prepare(&self.name()).expect("durable");
        std::fs::create_dir(self.secrets.state.execution(&self.name())).expect("made");
        drop(prepared.registered("shim").expect("durable"));
    }

    fn name(&self) -> String {
        crate::executions::execution_name(self.run, self.epoch, 1)
    }

    async fn set(&self, value: &str) {
        let version = SecretVersion::from_uuid(self.ids.uuid_v7());
        let value = SecretValue::new(value.to_owned().into()).expect("a value");
        self.store.set(&self.key, &value, version).await.expect("set");
    }

    async fn give(&self, name: &str) -> Result<String, NotGiven> {
        let attempt = (self.run, self.epoch);
        let given = self
            .secrets
            .give(attempt, &self.name(), self.key.codebase, name)
            .await;
        given.map(|value| value.expose().to_owned())
    }

    fn words(&self) -> Words {
        Words::new(self.secrets.fate_of(self.run, self.epoch), Places::default())
    }

    fn redact(&self, text: &str) -> String {
        self.words().free(text)
    }

    fn noted(&self) -> usize {
        self.secrets.journal.secrets_given(self.run, self.epoch).len()
    }
}

#[tokio::test]
async fn what_was_given_is_noted_and_taken_out_until_the_attempt_is_over() {
    let desk = Desk::new().await;
    desk.secrets.know(desk.run, desk.epoch).await;
    assert_eq!(desk.redact(VALUE), VALUE, "it was not given yet");
    assert_eq!(desk.give("TOKEN").await, Ok(VALUE.to_owned()));
    assert_eq!(desk.give("TOKEN").await, Ok(VALUE.to_owned()));
    assert_eq!(desk.noted(), 1, "by name and version, once");
    assert_eq!(desk.redact("it is hunter22\\/+"), "it is [secret TOKEN]");
    // What it was given before stays known when it is set anew.
    desk.set("another one").await;
    assert_eq!(desk.give("TOKEN").await, Ok("another one".to_owned()));
    assert_eq!(
        desk.redact("hunter22/+ another one"),
        "[secret TOKEN] [secret TOKEN]"
    );
    assert_eq!(desk.noted(), 2);
    desk.secrets.forget(desk.run, desk.epoch);
    assert!(desk.secrets.attempts().is_empty());
}

#[tokio::test]
async fn no_note_and_no_words_have_a_value() {
    let desk = Desk::new().await;
    desk.secrets.know(desk.run, desk.epoch).await;
    desk.give("TOKEN").await.expect("given");
    let files = [
        desk.secrets.state.ledger(),
        desk.secrets.state.execution(&desk.name()).join(GIVEN),
    ];
    for file in files {
        let kept = std::fs::read(&file).expect("it is there");
        let kept = String::from_utf8_lossy(&kept);
        assert!(kept.contains("TOKEN") && !kept.contains("hunter"), "{kept}");
    }
    let shown = format!("{:?} {:?}", desk.secrets, desk.words());
    assert!(!shown.contains("hunter"), "{shown}");
}

#[tokio::test]
async fn what_cannot_be_noted_or_read_is_not_given() {
    let desk = Desk::new().await;
    assert!(
        matches!(desk.give("TOKEN").await, Err(NotGiven::NotNow(_))),
        "nobody knows of the attempt"
    );
    desk.secrets.know(desk.run, desk.epoch).await;
    for unknown in ["OTHER", "no name", ""] {
        assert!(
            matches!(desk.give(unknown).await, Err(NotGiven::Refused(_))),
            "{unknown}"
        );
    }
    desk.store.go_away();
    assert!(matches!(desk.give("TOKEN").await, Err(NotGiven::NotNow(_))));
    desk.store.come_back();
    let later = Epoch::new(2);
    desk.secrets.know(desk.run, later).await;
    let unknown = desk
        .secrets
        .give((desk.run, later), "x", desk.key.codebase, "TOKEN")
        .await;
    assert!(
        matches!(unknown, Err(NotGiven::NotNow(_))),
        "the ledger does not know the attempt"
    );
    assert_eq!(desk.noted(), 0);
}

#[tokio::test]
async fn of_an_attempt_that_is_forgotten_nothing_is_said_that_may_have_a_secret() {
    let desk = Desk::new().await;
    desk.secrets.know(desk.run, desk.epoch).await;
    desk.give("TOKEN").await.expect("given");
    desk.secrets.forget(desk.run, desk.epoch);
    assert!(
        desk.redact(VALUE)
            .starts_with("[the words of the agent are held back")
    );
    assert_eq!(desk.redact(" \n"), " \n", "nothing was said");
}

#[tokio::test]
async fn every_text_of_an_outcome_is_freed_or_held_back() {
    let desk = Desk::new().await;
    desk.secrets.know(desk.run, desk.epoch).await;
    desk.give("TOKEN").await.expect("given");
    let freed = desk.words();
    desk.secrets.forget(desk.run, desk.epoch);
    let held_back = desk.words();
    let text = || VALUE.to_owned();
    let ask = cs_model::AskId::from_uuid(desk.ids.uuid_v7());
    let tasks = [
        Task::Answered { text: text() },
        Task::Asked {
            ask,
            question: text(),
            choices: vec![text(), text()],
            text: Some(text()),
        },
        Task::Offered {
            ask,
            summary: text(),
            message: Some(text()),
            text: Some(text()),
        },
        Task::failed(cs_model::FailureClass::Agent, text()),
    ];
    for task in tasks {
        let outcome = AttemptOutcome {
            session: Some(text()),
            model: Some("opus".to_owned()),
            ..AttemptOutcome::of(task, Spent::default())
        };
        for words in [&freed, &held_back] {
            let told = outcome.freed(words);
            let kept = serde_json::to_string(&told).expect("written");
            assert!(!kept.contains("hunter"), "{kept}");
            assert_eq!(told.model.as_deref(), Some("opus"));
            let mark = if words.why_held_back().is_none() {
                "[secret TOKEN]"
            } else {
                "held back"
            };
            assert!(kept.contains(mark), "{kept}");
        }
        assert_eq!(
            outcome.freed(&Words::new(Fate::Whole, Places::default())),
            outcome
        );
    }
}
