//! A small transaction pooler: each client has a server session of its own for a transaction only, and what comes for a session
//! that nobody has is thrown away. On demand it lets the answer to a COMMIT go lost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cs_postgres::{PostgresStore, Settings};
use cs_testkit::SetClock;
use cs_testkit::laws::World;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use crate::schema::{Schema, server};

const SESSIONS: usize = 3;

/// One message of the protocol: its type, its length and its content.
type Message = Vec<u8>;

/// A session on the server. Its reader gives what comes to the client that has it, or to nobody.
struct Session {
    to_server: OwnedWriteHalf,
    client: watch::Sender<Option<UnboundedSender<Message>>>,
}

struct Shared {
    free: Mutex<Receiver<Session>>,
    freed: Sender<Session>,
    lose_commits: AtomicBool,
}

/// A running pooler on a port of this machine.
pub(crate) struct Pooler {
    port: u16,
    shared: Arc<Shared>,
    schema: Arc<Schema>,
    _running: JoinSet<io::Result<()>>,
}

impl Pooler {
    pub(crate) async fn start(schema: &Arc<Schema>) -> Self {
        let (freed, free) = mpsc::channel(SESSIONS);
        let mut running = JoinSet::new();
        for _ in 0..SESSIONS {
            let session = connect(&schema.name, &mut running)
                .await
                .expect("the server answers");
            freed.send(session).await.expect("there is room");
        }
        let shared = Arc::new(Shared {
            free: Mutex::new(free),
            freed,
            lose_commits: AtomicBool::new(false),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        running.spawn(accept(listener, Arc::clone(&shared)));
        Self {
            port,
            shared,
            schema: Arc::clone(schema),
            _running: running,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!(
            "postgres://cs_panel@127.0.0.1:{}/postgres?sslmode=disable&statement-cache-capacity=0",
            self.port
        )
    }

    pub(crate) fn settings(&self) -> Settings {
        self.url().parse().expect("the URL is good")
    }

    /// Opens the record through the pooler.
    pub(crate) async fn open(&self) -> (PostgresStore, Arc<SetClock>) {
        let clock = Arc::new(SetClock::new());
        let settings = self.settings().with_clock(Arc::clone(&clock) as _);
        (PostgresStore::open(&settings).await.expect("it opens"), clock)
    }

    pub(crate) async fn world(&self) -> World {
        let (store, clock) = self.open().await;
        World::new(store, clock, Arc::clone(&self.schema)).await
    }

    /// From now on the connection of whoever commits breaks after the commit and before its answer.
    pub(crate) fn lose_commits(&self, lose: bool) {
        self.shared.lose_commits.store(lose, Ordering::SeqCst);
    }
}

/// Reads one message.
async fn message(from: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Message> {
    let mut message = vec![0; 5];
    from.read_exact(&mut message).await?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]);
    let length = usize::try_from(length).map_err(io::Error::other)?;
    message.resize(length + 1, 0);
    from.read_exact(&mut message[5..]).await?;
    Ok(message)
}

/// Reads a message without a type, as a connection begins with.
async fn startup(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = from.read_u32().await?.saturating_sub(4);
    let mut content = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    from.read_exact(&mut content).await?;
    Ok(content)
}

/// Begins a session on the server, whose search path is the schema of the test.
async fn connect(schema: &str, running: &mut JoinSet<io::Result<()>>) -> io::Result<Session> {
    let url = server();
    let (_, directory) = url.split_once("host=").expect("the server has a socket");
    let stream = UnixStream::connect(format!("{directory}/.s.PGSQL.5432")).await?;
    let (mut from_server, mut to_server) = stream.into_split();
    let mut content = 196_608_u32.to_be_bytes().to_vec();
    let options = format!("-c search_path={schema}");
    for text in [
        "user", "cs_panel", "database", "postgres", "options", &options, "",
    ] {
        content.extend_from_slice(text.as_bytes());
        content.push(0);
    }
    let length = u32::try_from(content.len() + 4).map_err(io::Error::other)?;
    to_server.write_u32(length).await?;
    to_server.write_all(&content).await?;
    while message(&mut from_server).await?[0] != b'Z' {}
    let (client, for_whom) = watch::channel(None);
    running.spawn(forward(from_server, for_whom));
    Ok(Session { to_server, client })
}

async fn forward(
    mut from: OwnedReadHalf,
    client: watch::Receiver<Option<UnboundedSender<Message>>>,
) -> io::Result<()> {
    loop {
        let message = message(&mut from).await?;
        if let Some(client) = &*client.borrow() {
            // A client that left misses it.
            let _ = client.send(message);
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let mut clients = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await?;
        clients.spawn(serve(client, Arc::clone(&shared)));
    }
}

async fn serve(mut client: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    startup(&mut client).await?;
    let mut hello = vec![b'R', 0, 0, 0, 8, 0, 0, 0, 0];
    for pair in [
        "server_version\x0015.0\0",
        "client_encoding\0UTF8\0",
        "standard_conforming_strings\0on\0",
    ] {
        hello.push(b'S');
        hello.extend_from_slice(
            &u32::try_from(pair.len() + 4)
                .map_err(io::Error::other)?
                .to_be_bytes(),
        );
        hello.extend_from_slice(pair.as_bytes());
    }
    hello.extend_from_slice(&[b'K', 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1, b'Z', 0, 0, 0, 5, b'I']);
    client.write_all(&hello).await?;
    let (mut from_client, mut to_client) = client.into_split();
    loop {
        let first = message(&mut from_client).await?;
        if first[0] == b'X' {
            return Ok(());
        }
        let mut session = shared
            .free
            .lock()
            .await
            .recv()
            .await
            .ok_or_else(|| io::Error::other("no session"))?;
        let (sender, mut from_server) = mpsc::unbounded_channel();
        session.client.send_replace(Some(sender));
        let done = transaction(
            first,
            &mut session,
            &mut from_client,
            &mut to_client,
            &mut from_server,
            &shared,
        )
        .await;
        session.client.send_replace(None);
        shared.freed.send(session).await.map_err(io::Error::other)?;
        done?;
    }
}

/// Carries messages both ways until the session is in no transaction and everything is answered.
async fn transaction(
    first: Message,
    session: &mut Session,
    from_client: &mut tokio::net::tcp::OwnedReadHalf,
    to_client: &mut tokio::net::tcp::OwnedWriteHalf,
    from_server: &mut UnboundedReceiver<Message>,
    shared: &Shared,
) -> io::Result<()> {
    let (mut next, mut unanswered, mut is_commit) = (Some(first), 0_u32, false);
    loop {
        if let Some(message) = next.take() {
            if matches!(message[0], b'Q' | b'S') {
                unanswered += 1;
            }
            is_commit = message[0] == b'Q' && message[5..].starts_with(b"COMMIT");
            session.to_server.write_all(&message).await?;
        }
        tokio::select! {
            message = message(from_client) => next = Some(message?),
            Some(message) = from_server.recv() => {
                let ready = message[0] == b'Z';
                if ready && is_commit && shared.lose_commits.load(Ordering::SeqCst) {
                    return Err(io::Error::other("the answer is lost"));
                }
                if !(is_commit && shared.lose_commits.load(Ordering::SeqCst)) {
                    to_client.write_all(&message).await?;
                }
                if ready {
                    unanswered -= 1;
                    if unanswered == 0 && message[5] == b'I' {
                        return Ok(());
                    }
                }
            }
        }
    }
}
