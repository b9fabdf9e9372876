//! The agent's end of a bridge: its messages and the answers, with bounds on both, and the news that it is gone.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};

use super::LINE_MAX_BYTES;

/// So many requests of an agent wait for their answers at once; more are not read.
const OPEN_MAX: usize = 64;

/// What the service reads from and writes to.
pub(super) struct Stream<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    open: Open,
    gone: mpsc::Sender<io::Result<()>>,
}

/// What is known of the agent beside its messages.
pub(super) struct Agent {
    open: Open,
    gone: mpsc::Receiver<io::Result<()>>,
}

/// The requests that have no answer yet.
#[derive(Clone)]
struct Open {
    requests: Arc<Mutex<BTreeMap<RequestKey, Kind>>>,
    /// How many there are, and how many of them the bridge answers by itself.
    count: Arc<watch::Sender<(usize, usize)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The daemon's to answer.
    Call,
    /// The bridge's own.
    Own,
}

type RequestKey = String;

impl<R, W> Stream<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(from: R, to: W) -> (Self, Agent) {
        // Only the first word counts; one who finds no room for the second has nothing to add.
        let (gone, hear) = mpsc::channel(1);
        let open = Open {
            requests: Arc::default(),
            count: Arc::new(watch::Sender::new((0, 0))),
        };
        let stream = Self {
            inner: AsyncRwTransport::new_server(from, to).with_max_line_length(LINE_MAX_BYTES),
            open: open.clone(),
            gone,
        };
        (stream, Agent { open, gone: hear })
    }
}

impl Agent {
    /// Waits until it is gone; an error says that it takes no answers.
    pub(super) async fn gone(&mut self) -> io::Result<()> {
        self.gone.recv().await.unwrap_or(Ok(()))
    }

    /// Waits until all is answered that the bridge answers by itself.
    pub(super) async fn answered(&self) {
        let mut count = self.open.count.subscribe();
        // The sender is in `self`.
        let _ = count.wait_for(|(_, own)| *own == 0).await;
    }
}

impl<R, W> Transport<RoleServer> for Stream<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(key(&response.id)),
            JsonRpcMessage::Error(error) => error.id.as_ref().map(key),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let (open, gone) = (self.open.clone(), self.gone.clone());
        let sent = self.inner.send(message);
        async move {
            let sent = sent.await;
            if let Some(answered) = answered {
                open.close(&answered);
            }
            if let Err(error) = &sent {
                let _ = gone.try_send(Err(io::Error::new(error.kind(), error.to_string())));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.open.room().await;
            let Some(message) = self.inner.receive().await else {
                let _ = self.gone.try_send(Ok(()));
                return None;
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    let kind = match &request.request {
                        ClientRequest::CallToolRequest(_) => Kind::Call,
                        _ => Kind::Own,
                    };
                    if !self.open.begin(key(&request.id), kind) {
                        tracing::debug!(id = %request.id, "a request under the number of one that is not answered yet");
                        continue;
                    }
                }
                JsonRpcMessage::Notification(notification) => {
                    // What is cancelled is not answered.
                    if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.open.close(&key(id));
                    }
                }
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

impl Open {
    /// Waits until there is room for one more.
    async fn room(&self) {
        let mut count = self.count.subscribe();
        // The sender is in `self`.
        let _ = count.wait_for(|(all, _)| *all < OPEN_MAX).await;
    }

    /// Whether no other is open under this number.
    fn begin(&self, key: RequestKey, kind: Kind) -> bool {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.contains_key(&key) {
            return false;
        }
        requests.insert(key, kind);
        self.say(&requests);
        true
    }

    fn close(&self, key: &RequestKey) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.remove(key);
        self.say(&requests);
    }

    fn say(&self, requests: &BTreeMap<RequestKey, Kind>) {
        let own = requests.values().filter(|kind| **kind == Kind::Own).count();
        self.count.send_replace((requests.len(), own));
    }
}

/// A number and a text that look alike are two.
fn key(id: &RequestId) -> RequestKey {
    match id {
        RequestId::Number(number) => number.to_string(),
        RequestId::String(text) => format!("{text:?}"),
    }
}
