//! Who is let in, before a byte of what they bring is read.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cs_model::{Epoch, RunId};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Rooms;
use super::room::Room;
use crate::call::Caller;
use crate::door::{Connection, NOT_YOURS};

/// A larger body is not read. No tool takes nearly as much.
pub(super) const BODY_MAX_BYTES: usize = 1 << 20;
/// From the head of a request to that of its answer: longer than any call may take.
const WITHIN: Duration = Duration::from_secs(90);

pub(super) type Reply = Response<BoxBody<Bytes, Infallible>>;

/// Stands before one connection.
#[derive(Debug)]
pub(super) struct Front {
    connection: Connection,
    rooms: Rooms,
    /// Whose the connection was found to be: it stays theirs.
    known: Mutex<Option<Caller>>,
}

/// Why a request is not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Page,
    Elsewhere,
    Stranger,
    TooLarge,
    TooSlow,
}

impl Refusal {
    fn status(self) -> StatusCode {
        match self {
            Self::Page | Self::Elsewhere => StatusCode::FORBIDDEN,
            // Not 401: that sends agents looking for a place to log in.
            Self::Stranger => StatusCode::NOT_FOUND,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Page => {
                "These tools are not for web pages: a request with an Origin is not heard. Nothing was done."
            }
            Self::Elsewhere => {
                "These tools are on 127.0.0.1 and for nobody who calls this machine another name. Nothing was done."
            }
            Self::Stranger => NOT_YOURS,
            Self::TooLarge => {
                "The message to the tools is larger than 1 MiB and was not read. Nothing was done."
            }
            Self::TooSlow => "The message to the tools did not come to its end in time.",
        }
    }

    fn reply(self) -> Reply {
        let mut reply = Response::new(Full::new(Bytes::from_static(self.sentence().as_bytes())).boxed());
        *reply.status_mut() = self.status();
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        reply.headers_mut().insert(header::CONTENT_TYPE, text);
        reply
    }
}

/// Where an attempt is found.
pub(super) fn path(caller: &Caller) -> String {
    format!("/mcp/{}/{}", caller.run.as_uuid(), caller.epoch.get())
}

fn caller(path: &str) -> Option<Caller> {
    let (run, epoch) = path.strip_prefix("/mcp/")?.split_once('/')?;
    Some(Caller {
        run: RunId::from_uuid(run.parse().ok()?),
        epoch: Epoch::new(epoch.parse().ok()?),
    })
}

impl Front {
    pub(super) fn new(connection: Connection, rooms: Rooms) -> Self {
        Self {
            connection,
            rooms,
            known: Mutex::default(),
        }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Reply {
        let room = match self.admit(&request).await {
            Ok(room) => room,
            Err(refusal) => {
                tracing::warn!(from = %self.connection.from, path = request.uri().path(), ?refusal, "a request at the tools' door is refused");
                return refusal.reply();
            }
        };
        match timeout(WITHIN, room.answer(request)).await {
            Ok(reply) => self.told(&room, reply),
            Err(_) => {
                tracing::warn!(run = %room.caller().run, "a request at the tools' door did not come to its end");
                Refusal::TooSlow.reply()
            }
        }
    }

    async fn admit(&self, request: &Request<Incoming>) -> Result<Arc<Room>, Refusal> {
        let headers = request.headers();
        if headers.contains_key(header::ORIGIN) {
            return Err(Refusal::Page);
        }
        if !is_ours(headers, self.connection.to.port()) {
            return Err(Refusal::Elsewhere);
        }
        let caller = caller(request.uri().path()).ok_or(Refusal::Stranger)?;
        let room = self.room(&caller).ok_or(Refusal::Stranger)?;
        if !bearer(headers).is_some_and(|token| room.is_token(token)) || !self.is_theirs(&room).await {
            return Err(Refusal::Stranger);
        }
        if request.body().size_hint().lower() > BODY_MAX_BYTES as u64 {
            return Err(Refusal::TooLarge);
        }
        Ok(room)
    }

    fn room(&self, caller: &Caller) -> Option<Arc<Room>> {
        let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.get(caller).map(Arc::clone)
    }

    fn known(&self) -> MutexGuard<'_, Option<Caller>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn is_theirs(&self, room: &Room) -> bool {
        let caller = *room.caller();
        if *self.known() == Some(caller) {
            return true;
        }
        let (sockets, connection) = (room.sockets(), self.connection);
        let mut look = JoinSet::new();
        look.spawn_blocking(move || sockets.belongs(&caller, connection));
        let is_theirs = matches!(look.join_next().await, Some(Ok(true)));
        if is_theirs {
            *self.known() = Some(caller);
        }
        is_theirs
    }

    /// A body without a length is refused by the room, while it is read.
    fn told(&self, room: &Room, reply: Reply) -> Reply {
        if reply.status() != StatusCode::PAYLOAD_TOO_LARGE {
            return reply;
        }
        tracing::warn!(run = %room.caller().run, from = %self.connection.from, "a message at the tools' door is too large");
        Refusal::TooLarge.reply()
    }
}

/// Whether the request is to this machine by a name that is always its own: a page may have another name lead here.
fn is_ours(headers: &HeaderMap, port: u16) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        host.as_bytes()
            .eq_ignore_ascii_case(format!("{name}:{port}").as_bytes())
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
