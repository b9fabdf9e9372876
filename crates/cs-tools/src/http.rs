//! The door for agents that cannot start a stdio server: one port of this machine for all attempts of a daemon, and no state between
//! requests. Both eras of the protocol are spoken under one address of each attempt.
//!
//! Who calls is known by the token in `Authorization`, and by whose the connection is as far as the [`Sockets`] can tell. A stranger gets a plain 404 and no invitation to log in, a request from a web page a 403.

mod front;
mod room;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use self::front::Front;
use self::room::Room;
use crate::call::Caller;
use crate::door::{Attempted, Connection, Sockets, is_of_one_connection};
use crate::handler::Tools;

/// So many connections at once; more wait to be taken.
const CONNECTIONS_MAX: usize = 256;
/// A connection that asks nothing for so long is closed.
const IDLE: Duration = Duration::from_secs(120);

/// The attempts that are heard, by who they are.
type Rooms = Arc<Mutex<BTreeMap<Caller, Arc<Room>>>>;

/// An open door on the loopback.
#[derive(Debug)]
pub struct HttpDoor {
    listener: TcpListener,
    port: u16,
    deadline: Duration,
    rooms: Rooms,
}

impl HttpDoor {
    /// Opens the door on a port of the loopback; 0 takes one that is free. A call waits at most until `deadline` for the record.
    ///
    /// # Errors
    /// The port cannot be had, since somebody else has it or it is one of those for the system.
    pub async fn bind(port: u16, deadline: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            port,
            deadline,
            rooms: Rooms::default(),
        })
    }

    /// The port that it has.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where the agent of an attempt finds its tools.
    #[must_use]
    pub fn url(&self, caller: &Caller) -> String {
        format!("http://127.0.0.1:{}{}", self.port, front::path(caller))
    }

    /// Hears an attempt from now on, until what is returned is dropped. One that is heard already is heard with the new token only.
    #[must_use]
    pub fn register(&self, of: Attempted, tools: Tools, sockets: Arc<dyn Sockets>) -> Registered {
        let caller = of.caller;
        let room = Arc::new(Room::new(of, tools, sockets, self.deadline));
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.insert(caller, Arc::clone(&room));
        Registered {
            caller,
            room,
            rooms: Arc::clone(&self.rooms),
            url: self.url(&caller),
        }
    }

    /// Hears calls until it is dropped.
    pub async fn serve(&self) -> io::Error {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            if connections.len() >= CONNECTIONS_MAX {
                connections.join_next().await;
                continue;
            }
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    // An answer goes out when it is there; without this it may wait for an acknowledgement.
                    let _ = stream.set_nodelay(true);
                    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
                    let front = Front::new(Connection { from, to }, Arc::clone(&self.rooms));
                    connections.spawn(talk(stream, from, Arc::new(front)));
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => return error,
            }
        }
    }
}

async fn talk(stream: TcpStream, from: SocketAddr, front: Arc<Front>) {
    let service = service_fn(|request| {
        let front = Arc::clone(&front);
        async move { Ok::<_, std::convert::Infallible>(front.answer(request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%from, %error, "a connection to the tools has ended early");
    }
}

/// An attempt is heard as long as this lives.
#[derive(Debug)]
pub struct Registered {
    caller: Caller,
    room: Arc<Room>,
    rooms: Rooms,
    url: String,
}

impl Registered {
    /// Where the attempt's agent finds its tools.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        // Another registration of the same attempt may have taken its place.
        if rooms
            .get(&self.caller)
            .is_some_and(|room| Arc::ptr_eq(room, &self.room))
        {
            rooms.remove(&self.caller);
        }
    }
}
