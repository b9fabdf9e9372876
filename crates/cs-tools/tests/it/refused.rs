//! What is refused, at both doors: with a sentence, logged once, and nothing is changed.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cs_model::Epoch;
use cs_tools::*;
use serde_json::{Value, json};
use tracing::Level;

use crate::agent::say;
use crate::host::{Gate, Place, TOKEN};
use crate::web::Web;

const LONG: Duration = Duration::from_secs(50);
const LARGE: usize = 50_000_000;
const ANOTHER: &str = "a token of another attempt";

/// What is wrong with a call that is good otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Token,
    Execution,
    User,
    Process,
    Origin,
    Host,
    Large,
    LargeWithoutLength,
    Argument,
    Stale,
    Over,
    Removed,
}

const OVER_HTTP: [(Wrong, u16, &str); 12] = [
    (Wrong::Token, 404, "not for this process"),
    (Wrong::Execution, 404, "not for this process"),
    (Wrong::User, 404, "not for this process"),
    (Wrong::Process, 404, "not for this process"),
    (Wrong::Origin, 403, "not for web pages"),
    (Wrong::Host, 403, "nobody who calls this machine another name"),
    (Wrong::Large, 413, "larger than 1 MiB"),
    (Wrong::LargeWithoutLength, 413, "larger than 1 MiB"),
    (Wrong::Argument, 200, "missing field `question`"),
    (Wrong::Stale, 200, "You have been replaced"),
    (Wrong::Over, 200, "Your work is over"),
    (Wrong::Removed, 404, "not for this process"),
];

const OVER_UNIX: [(Wrong, &str); 9] = [
    (Wrong::Token, "not for this process"),
    (Wrong::Execution, "not for this process"),
    (Wrong::User, "not for this process"),
    (Wrong::Process, "not for this process"),
    (Wrong::Origin, "cannot be read"),
    (Wrong::Large, "more than 1048576 bytes"),
    (Wrong::Argument, "missing field `question`"),
    (Wrong::Stale, "You have been replaced"),
    (Wrong::Over, "Your work is over"),
];

impl Wrong {
    fn gate(self) -> Gate {
        match self {
            Self::User => Gate::AnotherUser,
            Self::Process => Gate::Another,
            Self::Token
            | Self::Execution
            | Self::Origin
            | Self::Host
            | Self::Large
            | Self::LargeWithoutLength
            | Self::Argument
            | Self::Stale
            | Self::Over
            | Self::Removed => Gate::Us,
        }
    }

    /// A place where it is wrong.
    fn place(self) -> Place {
        let place = Place::new();
        let standing = match self {
            Self::Stale => Standing::Stale,
            Self::Over => Standing::Over,
            Self::Token
            | Self::Execution
            | Self::User
            | Self::Process
            | Self::Origin
            | Self::Host
            | Self::Large
            | Self::LargeWithoutLength
            | Self::Argument
            | Self::Removed => Standing::Current,
        };
        *place.host.standing.lock().unwrap() = Ok(standing);
        place
    }

    fn arguments(self) -> Value {
        if self == Self::Argument {
            json!({})
        } else {
            json!({"question": "Which?"})
        }
    }

    fn token(self) -> &'static str {
        match self {
            Self::Token => "a token that nobody has",
            Self::Execution => ANOTHER,
            Self::User
            | Self::Process
            | Self::Origin
            | Self::Host
            | Self::Large
            | Self::LargeWithoutLength
            | Self::Argument
            | Self::Stale
            | Self::Over
            | Self::Removed => TOKEN,
        }
    }
}

#[tokio::test]
async fn over_http() {
    for (wrong, status, sentence) in OVER_HTTP {
        let (log, _guard) = Log::start();
        let place = wrong.place();
        let mut web = Web::open(&place, wrong.gate(), LONG).await;
        let another = Attempted {
            caller: Caller {
                epoch: Epoch::new(9),
                ..Place::caller()
            },
            token: ANOTHER.to_owned(),
        };
        let tools = Tools::new(place.host.clone());
        let _another = web.door.register(another, tools, Arc::new(Gate::Us));
        let path = web.path();
        if wrong == Wrong::Removed {
            web.registered = None;
        }
        let mut headers = vec![
            (
                "Accept".to_owned(),
                "application/json, text/event-stream".to_owned(),
            ),
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("Authorization".to_owned(), format!("Bearer {}", wrong.token())),
        ];
        let mut header = |name: &str, value: String| headers.push((name.to_owned(), value));
        if wrong == Wrong::Host {
            header("Host", format!("panel.example:{}", web.door.port()));
        } else {
            header("Host", format!("localhost:{}", web.door.port()));
        }
        if wrong == Wrong::Origin {
            header("Origin", format!("http://127.0.0.1:{}", web.door.port()));
        }
        let params = json!({"name": "ask", "arguments": wrong.arguments()});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let told = match wrong {
            Wrong::Large => web.send("POST", &path, &headers, &vec![b' '; LARGE]).await,
            Wrong::LargeWithoutLength => {
                let mut head =
                    format!("POST {path} HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n");
                for (name, value) in &headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                head.push_str(&format!("\r\n{LARGE:x}\r\n"));
                web.raw(&[head.into_bytes(), vec![b' '; LARGE]].concat()).await
            }
            Wrong::Token
            | Wrong::Execution
            | Wrong::User
            | Wrong::Process
            | Wrong::Origin
            | Wrong::Host
            | Wrong::Argument
            | Wrong::Stale
            | Wrong::Over
            | Wrong::Removed => web.send("POST", &path, &headers, call.as_bytes()).await,
        };
        assert_eq!(told.status, status, "{wrong:?}: {told:?}");
        assert!(told.body.contains(sentence), "{wrong:?}: {told:?}");
        check(wrong, &log, &place);
        web.close();
    }
}

#[tokio::test]
async fn over_the_socket() {
    for (wrong, sentence) in OVER_UNIX {
        let (log, _guard) = Log::start();
        let place = wrong.place();
        let door = place.door(wrong.gate());
        let daemon = tokio::spawn(async move { door.serve().await });
        let call = json!({"id": "x", "tool": "ask", "arguments": wrong.arguments()});
        let line = match wrong {
            Wrong::Large => "x".repeat(LARGE),
            Wrong::Origin => "POST / HTTP/1.1\r\nOrigin: null\r\n\r\n".to_owned(),
            Wrong::Token
            | Wrong::Execution
            | Wrong::User
            | Wrong::Process
            | Wrong::Host
            | Wrong::LargeWithoutLength
            | Wrong::Argument
            | Wrong::Stale
            | Wrong::Over
            | Wrong::Removed => json!({"token": wrong.token(), "call": call}).to_string(),
        };
        let said = say(&place, &format!("{line}\n")).await;
        assert!(said.contains(sentence), "{wrong:?}: {said}");
        check(wrong, &log, &place);
        daemon.abort();
    }
}

fn check(wrong: Wrong, log: &Log, place: &Place) {
    let lines = log.ours();
    assert_eq!(lines.len(), 1, "{wrong:?}: {lines:?}");
    assert!(
        ["token", ANOTHER, "a token that nobody has"]
            .iter()
            .all(|secret| !lines[0].contains(&format!("{secret} of")) && !lines[0].contains(ANOTHER)),
        "{wrong:?}: {lines:?}"
    );
    assert!(place.is_untouched(), "{wrong:?}");
}

/// What is logged in this thread.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::INFO)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn ours(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let ours = text.lines().filter(|line| line.contains("cs_tools"));
        ours.map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
