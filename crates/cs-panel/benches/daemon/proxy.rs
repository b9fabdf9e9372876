//! Stands between a daemon and its server, and counts what passes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;

/// What has passed.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// Statements that were carried out, BEGIN and COMMIT too.
    pub(crate) queries: AtomicUsize,
    /// How often the client waited for the server.
    pub(crate) round_trips: AtomicUsize,
}

/// A proxy that runs as long as this is there.
pub(crate) struct Proxy {
    pub(crate) url: String,
    pub(crate) counted: Arc<Counted>,
    _running: JoinSet<()>,
}

impl Proxy {
    /// Starts one before the server with this URL, which names the directory of its socket.
    pub(crate) async fn start(server: &str) -> Self {
        let (_, socket) = server.split_once("host=").expect("the server has a socket");
        let socket = format!("{socket}/.s.PGSQL.5432");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let (counted, mut running) = (Arc::<Counted>::default(), JoinSet::new());
        let counts = Arc::clone(&counted);
        running.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                clients.spawn(forward(client, socket.clone(), Arc::clone(&counts)));
            }
        });
        Self {
            url: format!("postgres://cs_panel@127.0.0.1:{port}/postgres?sslmode=disable"),
            counted,
            _running: running,
        }
    }
}

async fn forward(client: TcpStream, socket: String, counted: Arc<Counted>) -> io::Result<()> {
    let server = UnixStream::connect(socket).await?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let back = async { tokio::io::copy(&mut from_server, &mut to_client).await.map(drop) };
    let forth = async {
        let mut kind = None; // the first message has none
        loop {
            let length = from_client.read_u32().await?;
            let mut content = vec![0; usize::try_from(length.saturating_sub(4)).map_err(io::Error::other)?];
            from_client.read_exact(&mut content).await?;
            if matches!(kind, Some(b'Q' | b'E')) {
                counted.queries.fetch_add(1, Ordering::Relaxed);
            }
            if matches!(kind, Some(b'Q' | b'S')) {
                counted.round_trips.fetch_add(1, Ordering::Relaxed);
            }
            let head = kind.into_iter().chain(length.to_be_bytes());
            to_server
                .write_all(&head.chain(content).collect::<Vec<u8>>())
                .await?;
            kind = Some(from_client.read_u8().await?);
        }
    };
    tokio::select! {
        done = back => done,
        done = forth => done,
    }
}
