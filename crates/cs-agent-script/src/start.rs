use std::io::{self, Read};

use serde::Deserialize;

/// What the agent was told on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) wake: Wake,
    pub(crate) prompt: String,
    pub(crate) answer: Option<String>,
    pub(crate) session: Option<String>,
}

/// Why the run was started, as the start line says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wake {
    First,
    Turn,
    Answer,
    Retry,
    Conflict,
    VerifyFailed,
}

#[derive(Deserialize)]
struct StartLine {
    r#type: String,
    prompt: String,
    wake: Option<Wake>,
    session: Option<String>,
    answer: Option<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
}

impl Start {
    pub(crate) fn read(mut input: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        Ok(Self::parse(&bytes))
    }

    /// Input that is no start line is a plain prompt, for the first time.
    fn parse(bytes: &[u8]) -> Self {
        let Some(line) = serde_json::from_slice::<StartLine>(bytes)
            .ok()
            .filter(|line| line.r#type == "start")
        else {
            let prompt = String::from_utf8_lossy(bytes).into_owned();
            return Self {
                wake: Wake::First,
                prompt,
                answer: None,
                session: None,
            };
        };
        let wake = match (&line.answer, line.wake, &line.session) {
            // What became of an offer comes as its answer; why the run was started says more.
            (Some(_), Some(failed @ (Wake::Conflict | Wake::VerifyFailed)), _) => failed,
            (Some(_), _, _) => Wake::Answer,
            (None, Some(wake), _) => wake,
            (None, None, Some(_)) => Wake::Turn,
            (None, None, None) => Wake::First,
        };
        let answer = line.answer.map(|answer| answer.text);
        Self {
            wake,
            prompt: line.prompt,
            answer,
            session: line.session,
        }
    }

    /// Replaces `{prompt}`, `{answer}` and `{session}`.
    pub(crate) fn expand(&self, text: &str) -> String {
        text.replace("{session}", self.session.as_deref().unwrap_or_default())
            .replace("{answer}", self.answer.as_deref().unwrap_or_default())
            .replace("{prompt}", &self.prompt)
    }
}

impl Wake {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Turn => "turn",
            Self::Answer => "answer",
            Self::Retry => "retry",
            Self::Conflict => "conflict",
            Self::VerifyFailed => "verify_failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, wake: Wake, prompt: &str) {
        let start = Start::parse(input.as_bytes());
        assert_eq!((start.wake, start.prompt.as_str()), (wake, prompt));
    }

    #[test]
    fn work_that_could_not_be_landed_is_more_than_an_answer() {
        let line = |wake: &str| {
            format!(
                r#"{{"type":"start","prompt":"p","wake":"{wake}","answer":{{"question":"q","text":"t"}}}}"#
            )
        };
        check(&line("conflict"), Wake::Conflict, "p");
        check(&line("verify_failed"), Wake::VerifyFailed, "p");
        check(&line("retry"), Wake::Answer, "p");
    }

    #[test]
    fn the_wake_follows_from_the_start_line() {
        check("do it", Wake::First, "do it");
        check(
            r#"{"type":"other","prompt":"p"}"#,
            Wake::First,
            r#"{"type":"other","prompt":"p"}"#,
        );
        check(
            r#"{"type":"start","prompt":"p","session":null,"answer":null}"#,
            Wake::First,
            "p",
        );
        check(r#"{"type":"start","prompt":"p","session":"s"}"#, Wake::Turn, "p");
        check(
            r#"{"type":"start","prompt":"p","session":"s","wake":"conflict"}"#,
            Wake::Conflict,
            "p",
        );
        let answered = r#"{"type":"start","prompt":"p","wake":"turn","answer":{"question":"q","text":"t"}}"#;
        check(answered, Wake::Answer, "p");
        assert_eq!(
            Start::parse(answered.as_bytes()).expand("{answer} to {prompt}{session}"),
            "t to p"
        );
    }
}
