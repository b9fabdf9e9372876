//! The dialogue with an agent, as a state machine: what comes in leads to steps, which somebody else carries out.

use cs_harness::{Event, Matter, Permissions, Trouble, cap_text};
use cs_model::FailureClass;
use serde_json::{Value, json};

use crate::opened::{Choice, Settling, Way, choices, way};
use crate::permission::{Verdict, option};
use crate::prompted;
use crate::start::Start;
use crate::update::Told;
use crate::wire::{self, INVALID_PARAMS, Message, RpcError, notification, request, response};

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;

/// The agent that names the command of a request in its title and nowhere else.
const SHOWS_COMMANDS: &str = "gemini-cli";

/// What is said of an agent that cannot reach the server of tools that it is given.
const NO_HTTP: &str = "the agent reaches no tools over HTTP: it works without those of cs-panel";

/// Exit codes: the task was answered; it was not; the bridge was told to stop.
pub(crate) const ANSWERED: u8 = 0;
pub(crate) const FAILED: u8 = 1;
pub(crate) const STOPPED: u8 = 143;

/// What is to be done next, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Say this to the agent.
    Send(Value),
    /// Print this.
    Tell(Event),
    /// Nothing more is to be said. The exit code.
    Over(u8),
}

/// Where the dialogue stands: what the answer is awaited of.
#[derive(Debug)]
enum Stage {
    Greeting,
    Opening(Way),
    Settling(Settling),
    Choosing(std::vec::IntoIter<Choice>),
    Prompting,
    /// The prompt was called off.
    Stopping,
    Over,
}

#[derive(Debug)]
pub(crate) struct Dialogue {
    start: Start,
    stage: Stage,
    /// The last request: there is never more than one.
    request: u64,
    session: String,
    told: Told,
    /// Whether the title of a request is the command that it is about.
    shows_commands: bool,
    /// The servers of tools that it is given.
    servers: Vec<Value>,
}

impl Dialogue {
    pub(crate) fn new(start: Start) -> Self {
        Self {
            start,
            stage: Stage::Greeting,
            request: 0,
            session: String::new(),
            told: Told::default(),
            shows_commands: false,
            servers: Vec::new(),
        }
    }

    /// The first words.
    pub(crate) fn greet(&mut self) -> Vec<Step> {
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "cs-panel", "title": "cs-panel", "version": env!("CARGO_PKG_VERSION")},
        });
        vec![self.ask("initialize", params)]
    }

    /// Which answer has to come soon: those before the prompt. A prompt takes the time that it takes.
    pub(crate) fn awaits(&self) -> Option<u64> {
        match self.stage {
            Stage::Greeting | Stage::Opening(_) | Stage::Settling(_) | Stage::Choosing(_) => {
                Some(self.request)
            }
            Stage::Prompting | Stage::Stopping | Stage::Over => None,
        }
    }

    /// Takes in a line of the agent.
    pub(crate) fn line(&mut self, line: &[u8]) -> Vec<Step> {
        if line.trim_ascii().is_empty() || matches!(self.stage, Stage::Over) {
            return Vec::new();
        }
        let Some(message) = Message::read(line) else {
            return vec![unknown("no message", line)];
        };
        match (message.method, message.id) {
            (Some(method), Some(id)) => self.asked(&method, &id, &message.params),
            (Some(method), None) => self.notified(&method, &message.params),
            (None, Some(id)) if wire::is_number(&id, self.request) => match message.error {
                Some(error) => self.refused(&error),
                None => self.answered(&message.result.unwrap_or_default()),
            },
            // An answer to nothing that is awaited.
            (None, _) => Vec::new(),
        }
    }

    /// A line that was too long to be held.
    pub(crate) fn long_line(&self) -> Vec<Step> {
        vec![unknown("a line that is too long", b"")]
    }

    /// The bridge is to stop.
    pub(crate) fn stop(&mut self) -> Vec<Step> {
        match self.stage {
            Stage::Prompting => {
                self.stage = Stage::Stopping;
                let params = json!({"sessionId": self.session});
                vec![Step::Send(notification("session/cancel", params))]
            }
            _ => self.over(STOPPED),
        }
    }

    /// An answer did not come in time.
    pub(crate) fn late(&mut self) -> Vec<Step> {
        match self.stage {
            Stage::Stopping => self.over(STOPPED),
            Stage::Settling(_) => self.answered(&Value::Null),
            _ => {
                let said = "the agent did not answer before it was asked to work";
                self.fail(Trouble {
                    matter: Matter::NoAnswer,
                    ..own_trouble(FailureClass::Infrastructure, said)
                })
            }
        }
    }

    /// Nothing comes from the agent any more. How its process ends tells why.
    pub(crate) fn gone(&mut self) -> Vec<Step> {
        self.stage = Stage::Over;
        self.told.said().into_iter().map(Step::Tell).collect()
    }

    /// More is to be said to the agent than it listens to.
    pub(crate) fn unheard(&mut self) -> Vec<Step> {
        if matches!(self.stage, Stage::Stopping) {
            return self.over(STOPPED);
        }
        let said = "the agent asks again and again and does not listen to the answers";
        self.fail(Trouble {
            matter: Matter::NotListening,
            ..own_trouble(FailureClass::Agent, said)
        })
    }

    /// The agent could not be started.
    pub(crate) fn not_started(&mut self, said: &str) -> Vec<Step> {
        self.fail(own_trouble(FailureClass::InvalidRequest, said))
    }

    fn ask(&mut self, method: &str, params: Value) -> Step {
        self.request += 1;
        Step::Send(request(self.request, method, params))
    }

    fn over(&mut self, code: u8) -> Vec<Step> {
        self.stage = Stage::Over;
        let said = self.told.said().map(Step::Tell);
        said.into_iter().chain([Step::Over(code)]).collect()
    }

    fn fail(&mut self, trouble: Trouble) -> Vec<Step> {
        let mut steps = self.over(FAILED);
        let at = steps.len() - 1;
        let told = [Event::Failed(trouble), Event::End { ok: false }];
        steps.splice(at..at, told.map(Step::Tell));
        steps
    }

    fn answered(&mut self, result: &Value) -> Vec<Step> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Greeting => self.greeted(result),
            Stage::Opening(way) => self.opened(way, result),
            Stage::Settling(settling) => self.settled(settling),
            Stage::Choosing(rest) => self.choose(rest),
            Stage::Prompting => self.ended(result),
            Stage::Stopping => {
                let used = self.told.used(result).map(Step::Tell);
                used.into_iter().chain(self.over(STOPPED)).collect()
            }
            Stage::Over => Vec::new(),
        }
    }

    fn refused(&mut self, error: &RpcError) -> Vec<Step> {
        let mut trouble = wire::trouble(error);
        let is_unclear = matches!(trouble.class, FailureClass::Agent | FailureClass::InvalidRequest);
        match &self.stage {
            Stage::Opening(Way::Resume | Way::Load) if is_unclear => {
                return self.begin_anew("the agent does not know its conversation any more");
            }
            Stage::Settling(_) => return self.answered(&Value::Null),
            Stage::Choosing(_) if is_unclear => trouble.class = FailureClass::InvalidRequest,
            Stage::Stopping => return self.over(STOPPED),
            _ => {}
        }
        self.fail(trouble)
    }

    fn greeted(&mut self, result: &Value) -> Vec<Step> {
        if result["protocolVersion"] != VERSION {
            let said = "the agent does not speak version 1 of the Agent Client Protocol";
            return self.fail(own_trouble(FailureClass::InvalidRequest, said));
        }
        let started = Event::Started {
            version: result["agentInfo"]["version"].as_str().map(cap_text),
            servers: Vec::new(),
        };
        self.shows_commands = result["agentInfo"]["name"] == SHOWS_COMMANDS;
        let mut steps = vec![Step::Tell(started)];
        if let Some(tools) = &self.start.tools {
            match tools.entry(result) {
                Some(server) => self.servers.push(server),
                None => steps.push(progress(NO_HTTP.to_owned())),
            }
        }
        steps.extend(match (way(result, &self.start), &self.start.session) {
            (Way::New, Some(_)) => self.begin_anew("the agent cannot go on with a conversation"),
            (way, _) => vec![self.open(way)],
        });
        steps
    }

    fn open(&mut self, way: Way) -> Step {
        let mut params = json!({"cwd": self.start.cwd, "mcpServers": self.servers});
        let method = match way {
            Way::New => "session/new",
            Way::Resume => "session/resume",
            Way::Load => "session/load",
        };
        if let (Way::Resume | Way::Load, Some(session)) = (way, &self.start.session) {
            params["sessionId"] = json!(session);
        }
        self.stage = Stage::Opening(way);
        self.ask(method, params)
    }

    /// A new conversation, in the place of one that there was.
    fn begin_anew(&mut self, why: &str) -> Vec<Step> {
        if let Some(before) = self.start.history.take() {
            self.start.prompt = format!("{before}\n\n{}", self.start.prompt);
        }
        let said = format!("{why}: it begins a new one and is told what was said before");
        vec![progress(said), self.open(Way::New)]
    }

    fn opened(&mut self, way: Way, result: &Value) -> Vec<Step> {
        let session = match way {
            Way::New => result["sessionId"].as_str().map(str::to_owned),
            Way::Resume | Way::Load => self.start.session.clone(),
        };
        let session = session.unwrap_or_default();
        let Some(named) = Event::session(&session) else {
            let said = "the agent gave no name for the conversation";
            return self.fail(own_trouble(FailureClass::Agent, said));
        };
        self.session = session;
        let choices = choices(result, &self.session, &self.start);
        let mut steps = vec![Step::Tell(named)];
        steps.extend(choices.missing.into_iter().map(progress));
        let made = choices.made.into_iter();
        steps.extend(match way {
            Way::New | Way::Resume => self.choose(made),
            Way::Load => self.settle(Settling::new(made)),
        });
        steps
    }

    /// Some agents say an old conversation again only after they have answered that it is loaded, in the same words in which they will
    /// answer the prompt. Nobody knows this request; when its answer comes with nothing before it, all was said.
    fn settle(&mut self, settling: Settling) -> Vec<Step> {
        self.stage = Stage::Settling(settling);
        vec![self.ask("_cs-panel/settled", json!({"sessionId": self.session}))]
    }

    fn settled(&mut self, settling: Settling) -> Vec<Step> {
        match settling.once_more() {
            Ok(settling) => self.settle(settling),
            Err(choices) => self.choose(choices),
        }
    }

    fn choose(&mut self, mut rest: std::vec::IntoIter<Choice>) -> Vec<Step> {
        let step = match rest.next() {
            Some(Choice { method, params }) => {
                self.stage = Stage::Choosing(rest);
                self.ask(method, params)
            }
            None => {
                self.stage = Stage::Prompting;
                let text = json!([{"type": "text", "text": self.start.prompt}]);
                self.ask(
                    "session/prompt",
                    json!({"sessionId": self.session, "prompt": text}),
                )
            }
        };
        vec![step]
    }

    fn ended(&mut self, result: &Value) -> Vec<Step> {
        let used = self.told.used(result);
        let (events, ok) = prompted::ended(result);
        let events = used.into_iter().chain(events);
        let mut steps = self.over(if ok { ANSWERED } else { FAILED });
        let at = steps.len() - 1;
        steps.splice(at..at, events.map(Step::Tell));
        steps
    }

    fn notified(&mut self, method: &str, params: &Value) -> Vec<Step> {
        let is_ours = params["sessionId"].as_str() == Some(&self.session);
        match (method, &mut self.stage) {
            ("session/update", Stage::Settling(settling)) => {
                settling.has_heard();
                Vec::new()
            }
            ("session/update", Stage::Prompting | Stage::Stopping) if is_ours => {
                let events = self.told.update(&params["update"]);
                events.into_iter().map(Step::Tell).collect()
            }
            // What is said again of an old conversation, or of one within ours.
            ("session/update", _) => Vec::new(),
            // An agent's own additions, which may be left alone, begin like this; those of Qwen Code with its name.
            (own, _)
                if ["_", "$/", "qwen/notify/"]
                    .iter()
                    .any(|mark| own.starts_with(mark)) =>
            {
                Vec::new()
            }
            _ => vec![unknown(method, params.to_string().as_bytes())],
        }
    }

    /// The agent asks: only for permissions, since nothing else was offered.
    fn asked(&mut self, method: &str, id: &Value, params: &Value) -> Vec<Step> {
        if method != "session/request_permission" {
            return vec![Step::Send(wire::no_such_method(id, method))];
        }
        if !matches!(self.stage, Stage::Prompting) {
            return vec![Step::Send(response(
                id,
                json!({"outcome": {"outcome": "cancelled"}}),
            ))];
        }
        let mut call = self.told.call(&params["toolCall"]);
        if self.shows_commands {
            call.learn_from_title(&params["toolCall"]);
        }
        let asks = params["sessionId"].as_str();
        if asks.is_some_and(|session| session != self.session) {
            let denied = Event::Denied { what: call.phrase() };
            let answer = wire::error(
                id,
                INVALID_PARAMS,
                "this is another conversation than the one that is led here",
            );
            return vec![Step::Tell(denied), Step::Send(answer)];
        }
        let is_ours = call.is_ours && !self.servers.is_empty();
        let is_allowed = is_ours || call.is_allowed(self.start.permissions, &self.start.cwd);
        let allowed = is_allowed.then(|| {
            let verdict = match self.start.permissions {
                Permissions::Full => Verdict::Allow,
                Permissions::Edit => Verdict::AllowOnce,
            };
            option(&params["options"], verdict)
        });
        let (chosen, is_denied) = match allowed.flatten() {
            Some(yes) => (Some(yes), false),
            None => (option(&params["options"], Verdict::Reject), true),
        };
        let outcome = match chosen {
            Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
            None => json!({"outcome": {"outcome": "cancelled"}}),
        };
        let told = if is_denied {
            let denied = Event::Denied { what: call.phrase() };
            self.told.said().into_iter().chain([denied]).collect()
        } else {
            // Some agents tell of a call that they asked for only when it is over.
            self.told.tool(&params["toolCall"])
        };
        let told = told.into_iter().map(Step::Tell);
        told.chain([Step::Send(response(id, outcome))]).collect()
    }
}

fn own_trouble(class: FailureClass, said: &str) -> Trouble {
    Trouble {
        class,
        status: None,
        again: None,
        said: cap_text(said),
        matter: Matter::Provider,
    }
}

fn progress(text: String) -> Step {
    Step::Tell(Event::Progress { text })
}

fn unknown(kind: &str, message: &[u8]) -> Step {
    Step::Tell(Event::unknown(kind, message))
}

#[cfg(test)]
mod tests;
