//! A desk at which one real agent works.
#![expect(clippy::print_stdout, reason = "it says where it is kept")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::agent::{Agent, Installed};
use crate::desk::{Daemon, Desk};
use crate::provider::Provider;
use crate::record::Record;

/// The longest that an agent may take to its end: one tries for more than a minute what others give up at once.
const PATIENCE: Duration = Duration::from_secs(300);

/// Commits everything, in a shell; the message comes behind it.
pub(crate) const COMMIT: &str =
    "git add --all && git -c user.name=Agent -c user.email=agent@example.org commit --quiet -m";

/// A desk, its agent, and the script of its provider.
pub(crate) struct Stage<'a> {
    pub(crate) desk: Desk,
    pub(crate) installed: &'a Installed,
    provider: &'a Provider,
    script: String,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(name: &str, installed: &'a Installed, provider: &'a Provider, keep: bool) -> Self {
        let script = name.replace('/', "-");
        let address = provider.address(&script);
        let mut dir = tempfile::tempdir_in(place()).expect("a directory");
        if keep {
            dir.disable_cleanup(true);
            println!("       {name} is in {}", dir.path().display());
        }
        let given = installed.agent.environment(&address);
        let mut env = given.clone();
        // Not what the homes of agents are in: some distrust a home that is a temporary file.
        let tmp = dir.path().join("tmp");
        fs::create_dir(&tmp).expect("made");
        env.push(("TMPDIR".to_owned(), tmp.display().to_string()));
        let desk = Desk::furnished(dir, Arc::new(Record::with(env)), None);
        for (path, text) in installed.agent.settings(&address) {
            write(&desk.path("home").join(path), &text);
        }
        let stage = Self {
            desk,
            installed,
            provider,
            script,
        };
        stage.configure(&given.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
        stage
    }

    fn configure(&self, pass: &[String]) {
        let (name, harness) = (self.installed.agent.as_str(), self.installed.agent.harness());
        let trusting = self.installed.agent.trusting().map(str::to_owned);
        let command: Vec<String> = self.installed.command.iter().cloned().chain(trusting).collect();
        let text = format!(
            "person = \"ada@example.org\"\npass_env = {}\n\n[agents.{name}]\ncommand = {}\nharness = \"{harness}\"\npermissions = \"full\"\n",
            json!(pass),
            json!(command),
        );
        write(&self.desk.path("home/.config/cs-panel/config.toml"), &text);
    }

    /// What the provider says from now on.
    pub(crate) fn script(&self, steps: &Value) {
        self.provider.play(&self.script, steps);
    }

    /// What the agent asked its provider for and what is answered, without what is beside the task.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let mut asked = self.provider.asked(&self.script);
        asked.retain(|entry| entry["step"] != "side");
        asked
    }

    /// The steps of the script that were played, without searches for tools.
    pub(crate) fn steps_played(&self) -> Vec<String> {
        let steps = self.asked().into_iter();
        let steps = steps.filter_map(|entry| entry["step"].as_str().map(str::to_owned));
        steps.filter(|step| !step.ends_with("-search")).collect()
    }

    pub(crate) fn send(&self, message: &str) -> String {
        self.desk.send(message)
    }

    pub(crate) fn send_more(&self, card: &str, message: &str) {
        self.desk.ok(&["send", "--card", card, message]);
    }

    /// Runs the daemon until nothing is ready, running or landing, and returns what it said.
    #[expect(
        clippy::disallowed_methods,
        reason = "it waits for another process, for no longer than its patience"
    )]
    pub(crate) fn run(&self) -> String {
        let log = fs::File::create(self.desk.path("daemon.log")).expect("made");
        let mut command = self.desk.panel(&["run", "--once"]);
        command.stdout(log.try_clone().expect("a handle")).stderr(log);
        let mut daemon = command.spawn().expect("it starts");
        let said = || fs::read_to_string(self.desk.path("daemon.log")).expect("it is there");
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = daemon.try_wait().expect("it is ours to wait for") {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "the daemon does not end\n{}", said());
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(status.success(), "run --once: {status}\n{}", said());
        said()
    }

    /// Waits until the agent can go on with a conversation that it has begun: gemini 0.61 empties one that it loads again in the minute of
    /// the clock in which it began.
    #[expect(
        clippy::disallowed_methods,
        reason = "it waits for the clock that the agent looks at, for a minute at most"
    )]
    pub(crate) fn let_the_conversation_settle(&self) {
        let minute = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            since.expect("a time after 1970").as_secs() / 60
        };
        let begun = minute();
        while self.installed.agent == Agent::Gemini && minute() == begun {
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Bounds the silence of the agent: before its first word, and after it.
    pub(crate) fn bound_silence(&self) {
        let name = self.installed.agent.as_str();
        self.desk.configure(&format!(
            "[agents.{name}.limits]\nstart = \"45s\"\nidle = \"10s\"\n"
        ));
    }

    /// Bounds the tokens of an attempt.
    pub(crate) fn bound_tokens(&self, most: u32) {
        let name = self.installed.agent.as_str();
        self.desk
            .configure(&format!("[agents.{name}.limits]\ntokens = {most}\n"));
    }

    /// A daemon that stays.
    pub(crate) fn daemon(&self) -> Daemon {
        self.desk.daemon()
    }

    /// A shell command that says that it came by, and waits until the test lets it go on.
    pub(crate) fn gate(&self, name: &str) -> String {
        let here = self.desk.path("outside").join(name);
        let here = here.display();
        format!("touch '{here}' && while [ ! -e '{here}.go' ]; do sleep 0.1; done")
    }

    /// The card has these answers of its agent, and waits for its person.
    #[track_caller]
    pub(crate) fn has_answered(&self, card: &str, answers: &[&str]) {
        let detail = self.desk.card(card);
        assert_eq!(self.desk.said_by(card, "agent"), answers, "{detail}");
        assert_eq!(detail["runs"][0]["failure"], Value::Null, "{detail}");
        assert_eq!(detail["runs"][0]["tries"], 0, "{detail}");
    }

    /// The agent went on with its one conversation: its last request holds what was said before, and it keeps no other.
    #[track_caller]
    pub(crate) fn has_resumed(&self) {
        let asked = self.asked();
        let last = asked.last().expect("it has asked");
        assert!(
            last["remembers"].as_u64() > Some(0),
            "it remembers nothing: {asked:?}"
        );
        if let Some(dir) = self.installed.agent.conversations() {
            let kept = conversations(&self.desk.path("home").join(dir));
            assert_eq!(kept.len(), 1, "conversations that it keeps: {kept:?}");
        }
    }

    /// The name of the conversation of the card's run.
    pub(crate) fn session(&self, card: &str) -> Value {
        self.desk.card(card)["runs"][0]["session"].clone()
    }

    /// What the card has used in all, over all of its starts.
    #[track_caller]
    pub(crate) fn has_used(&self, card: &str, input_tokens: u64, output_tokens: u64) {
        let used = &self.desk.card(card)["card"]["usage"];
        let expected = (json!(input_tokens), json!(output_tokens));
        assert_eq!(
            (&used["input_tokens"], &used["output_tokens"]),
            (&expected.0, &expected.1),
            "{used}"
        );
    }

    /// What the agent's settings say that hold wherever it is started, and where that is.
    pub(crate) fn settings(&self) -> (String, PathBuf) {
        let path = self
            .desk
            .path("home")
            .join(self.installed.agent.holds_everywhere());
        (fs::read_to_string(&path).unwrap_or_default(), path)
    }

    /// The processes of this desk, without daemons.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left = self.desk.processes();
        left.retain(|line| !line.trim_end().ends_with(" run"));
        left
    }

    pub(crate) fn no_process_is_left(&self) {
        self.desk.no_process_is_left();
    }
}

/// Memory where that exists: agents keep databases in their homes.
fn place() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        Path::new("/tmp")
    }
}

/// The files of conversations below a directory.
fn conversations(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("the agent keeps its conversations there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let below = paths.flat_map(|path| match path.is_dir() {
        true => conversations(&path),
        false => vec![path],
    });
    below
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(path, text).expect("written");
}
