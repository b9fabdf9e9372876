//! What an agent has said through its tools: one line of JSON each, on the disk before anybody acts on it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cs_harness::Event;
use cs_model::AskId;
use cs_supervise::ExecutionDir;
use cs_tools::{Answer, CallId};
use cs_worktree::plain;
use serde::{Deserialize, Serialize};

const NAME: &str = "tools.jsonl";
/// An agent that says more is out of its mind.
const MOST_BYTES: u64 = 16 << 20;

/// What an agent wants of people when it ends its turn: the last of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// An answer.
    Question {
        /// The question's id.
        id: AskId,
        /// The question.
        text: String,
        /// Answers to choose from.
        choices: Vec<String>,
    },
    /// That its work is landed.
    Offer {
        /// The offer's id.
        id: AskId,
        /// What was done, and how it was tried out.
        text: String,
    },
}

impl Word {
    /// The id under which it is on the record, or will be.
    pub(crate) fn id(&self) -> AskId {
        match self {
            Self::Question { id, .. } | Self::Offer { id, .. } => *id,
        }
    }

    /// Whether it is the same, under whatever id.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Question { text, choices, .. },
                Self::Question {
                    text: other,
                    choices: others,
                    ..
                },
            ) => text == other && choices == others,
            (Self::Offer { text, .. }, Self::Offer { text: other, .. }) => text == other,
            (Self::Question { .. }, Self::Offer { .. }) | (Self::Offer { .. }, Self::Question { .. }) => {
                false
            }
        }
    }

    /// The same as an agent would say it that has no tools.
    pub(crate) fn event(&self) -> Event {
        match self {
            Self::Question { text, choices, .. } => Event::Ask {
                question: text.clone(),
                choices: choices.clone(),
            },
            Self::Offer { text, .. } => Event::OfferLanding {
                summary: text.clone(),
                message: None,
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Word(Word),
    Progress { text: String },
    Answered { call: CallId, answer: Answer },
}

#[derive(Debug, Default)]
struct State {
    word: Option<Word>,
    progress: Option<String>,
    answers: BTreeMap<CallId, Answer>,
}

impl State {
    fn apply(&mut self, line: Line) {
        match line {
            Line::Word(word) => self.word = Some(word),
            Line::Progress { text } => self.progress = Some(text),
            Line::Answered { call, answer } => {
                self.answers.insert(call, answer);
            }
        }
    }
}

/// What an agent has said so far, with its file.
#[derive(Debug)]
pub(crate) struct Said {
    file: File,
    state: State,
}

impl Said {
    /// Opens what is there, or begins it. What a crash cut off in the middle of a line was acted on by nobody, and goes.
    pub(crate) fn open(dir: &ExecutionDir) -> io::Result<Self> {
        let path = dir.path().join(NAME);
        set_aside(&path)?;
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(path)?;
        let (state, whole) = read(&mut file)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        File::open(dir.path())?.sync_all()?;
        Ok(Self { file, state })
    }

    /// What the agent of an execution wants of people; nothing where it said nothing through tools.
    pub(crate) fn word_of(dir: &ExecutionDir) -> io::Result<Option<Word>> {
        Ok(look(dir)?.word)
    }

    pub(crate) fn word(&self) -> Option<&Word> {
        self.state.word.as_ref()
    }

    /// What a call was answered.
    pub(crate) fn answer(&self, call: &CallId) -> Option<&Answer> {
        self.state.answers.get(call)
    }

    /// Notes what the agent wants, in the place of what it wanted before.
    pub(crate) fn say(&mut self, word: Word) -> io::Result<()> {
        self.append(Line::Word(word))
    }

    /// Notes how far the agent is.
    pub(crate) fn progress(&mut self, text: &str) -> io::Result<()> {
        let text = text.to_owned();
        self.append(Line::Progress { text })
    }

    /// Notes what a call is answered.
    pub(crate) fn answered(&mut self, call: &CallId, answer: &Answer) -> io::Result<()> {
        let (call, answer) = (call.clone(), answer.clone());
        self.append(Line::Answered { call, answer })
    }

    fn append(&mut self, line: Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        let at = self.file.stream_position()?;
        if at + bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "an agent has said too much through its tools",
            ));
        }
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A line that is half there would spoil the next one.
            self.file.set_len(at)?;
            self.file.seek(SeekFrom::Start(at))?;
            return Err(error);
        }
        self.state.apply(line);
        Ok(())
    }
}

/// Puts away what an agent's shell has put in the place of the file.
fn set_aside(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => Ok(()),
        Ok(_) => {
            tracing::warn!(path = %path.display(), "something else stands where it is kept what an agent says through its tools");
            fs::rename(path, path.with_extension("aside"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// How far the agent of an execution says it is, where it has said so through its tools.
#[must_use]
pub fn progress_of(dir: &ExecutionDir) -> Option<String> {
    look(dir).ok()?.progress
}

fn look(dir: &ExecutionDir) -> io::Result<State> {
    match plain::open_itself(&dir.path().join(NAME)) {
        Ok(mut file) => Ok(read(&mut file)?.0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
        Err(error) => Err(error),
    }
}

/// Reads what is there, and how many bytes of it are whole lines.
fn read(file: &mut File) -> io::Result<(State, u64)> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let mut state = State::default();
    let mut whole = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.last() != Some(&b'\n') {
            break;
        }
        match serde_json::from_slice(line) {
            Ok(line) => state.apply(line),
            // Somebody else has written there, or a later version: what stands before it holds.
            Err(error) => {
                tracing::warn!(%error, "what an agent said through its tools is not understood from byte {whole} on");
                break;
            }
        }
        whole += line.len() as u64;
    }
    Ok((state, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(number: u128) -> Word {
        Word::Question {
            id: AskId::from_uuid(uuid::Uuid::from_u128(number)),
            text: format!("Question {number}?"),
            choices: vec!["yes".to_owned()],
        }
    }

    fn scratch() -> (tempfile::TempDir, ExecutionDir) {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = ExecutionDir::create(temp.path().join("x")).expect("made");
        (temp, dir)
    }

    #[test]
    fn what_was_said_is_there_after_every_cut_of_its_file() {
        let (_temp, dir) = scratch();
        let call = CallId::new("a").expect("a name");
        let answer = Answer::done("Written down.");
        {
            let mut said = Said::open(&dir).expect("begun");
            assert_eq!(Said::word_of(&dir).expect("readable"), None);
            said.say(question(1)).expect("noted");
            said.answered(&call, &answer).expect("noted");
            said.progress("half").expect("noted");
        }
        let path = dir.path().join(NAME);
        let whole = fs::read(&path).expect("there");
        let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).expect("cut");
            let mut said = Said::open(&dir).expect("a cut file is opened");
            let lines = ends.iter().filter(|end| **end < cut).count();
            assert_eq!(said.word().is_some(), lines >= 1, "{cut}");
            assert_eq!(said.answer(&call).is_some(), lines >= 2, "{cut}");
            assert_eq!(progress_of(&dir).is_some(), lines >= 3, "{cut}");
            said.say(question(2)).expect("it goes on");
            assert_eq!(Said::word_of(&dir).expect("readable"), Some(question(2)), "{cut}");
        }
    }

    #[test]
    fn what_somebody_else_puts_there_loses_nothing_and_holds_nobody_up() {
        let (_temp, dir) = scratch();
        let path = dir.path().join(NAME);
        Said::open(&dir).expect("begun").say(question(1)).expect("noted");
        let noted = fs::read(&path).expect("there");
        fs::write(&path, [&noted[..], b"garbage\n", &noted[..]].concat()).expect("written");
        assert_eq!(Said::word_of(&dir).expect("readable"), Some(question(1)));
        let mut said = Said::open(&dir).expect("opened");
        said.say(question(2)).expect("noted");
        assert_eq!(Said::word_of(&dir).expect("readable"), Some(question(2)));

        fs::remove_file(&path).expect("removed");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a pipe");
        assert!(Said::word_of(&dir).is_err());
        assert_eq!(progress_of(&dir), None);
        Said::open(&dir)
            .expect("it is put away")
            .say(question(3))
            .expect("noted");
        assert_eq!(Said::word_of(&dir).expect("readable"), Some(question(3)));
    }

    #[test]
    fn an_agent_that_says_too_much_is_told_so_and_loses_nothing() {
        let (_temp, dir) = scratch();
        let mut said = Said::open(&dir).expect("begun");
        said.say(question(1)).expect("noted");
        let much = "x".repeat(5 << 20);
        let refused = (0..4).map(|_| said.progress(&much)).find_map(Result::err);
        assert_eq!(
            refused.expect("it is too much").kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(Said::word_of(&dir).expect("readable"), Some(question(1)));
    }
}
