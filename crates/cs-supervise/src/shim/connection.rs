//! One client's connection, as the shim sees it.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{SendFlags, send};

use crate::dir::Aside;
use crate::wire::{MAX_MESSAGE_BYTES, Reply, Request};

const CHUNK_BYTES: usize = 64 * 1024;

/// A connection. What is not yet understood is kept, at most one message and one chunk.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    /// Whether this is the connection of the one who started the shim, who alone may give GO.
    pub(super) is_starter: bool,
    /// Whether it has said hello.
    pub(super) is_greeted: bool,
    /// Whether it is of no more use.
    pub(super) is_over: bool,
    unread: Vec<u8>,
    prompt: Option<Prompt>,
}

/// A prompt that is being received.
#[derive(Debug)]
struct Prompt {
    /// Where it goes; `None` when it cannot be stored: it is read all the same, since it is no message.
    aside: Option<Aside>,
    missing_bytes: u64,
}

/// What came over a connection.
#[derive(Debug)]
pub(super) enum Event {
    Request(Request),
    /// A message that this build does not know.
    NotUnderstood,
    /// The whole prompt, written aside.
    Prompt(Aside),
    PromptFailed(io::Error),
}

impl Connection {
    pub(super) fn from_starter(stream: UnixStream) -> io::Result<Self> {
        Self::new(stream, true)
    }

    pub(super) fn from_client(stream: UnixStream) -> io::Result<Self> {
        Self::new(stream, false)
    }

    fn new(stream: UnixStream, is_starter: bool) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            is_starter,
            is_greeted: false,
            is_over: false,
            unread: Vec::new(),
            prompt: None,
        })
    }

    /// Sends a reply. A client that does not read its few and short replies is dropped: nobody may block a shim.
    pub(super) fn send(&mut self, reply: &Reply) {
        let Ok(body) = serde_json::to_vec(reply) else {
            return;
        };
        let Ok(length) = u32::try_from(body.len()) else {
            return;
        };
        let message = [&length.to_be_bytes(), body.as_slice()].concat();
        let sent = send(&self.stream, &message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        if sent != Ok(message.len()) {
            self.is_over = true;
        }
    }

    /// The next bytes go to `aside`, so many of them.
    pub(super) fn expect_prompt(&mut self, aside: Aside, bytes: u64) {
        self.prompt = Some(Prompt {
            aside: Some(aside),
            missing_bytes: bytes,
        });
    }

    /// The next bytes are a prompt that is of no use.
    pub(super) fn discard_prompt(&mut self, bytes: u64) {
        self.prompt = Some(Prompt {
            aside: None,
            missing_bytes: bytes,
        });
    }

    /// Reads what is there, one chunk at most.
    pub(super) fn read(&mut self) {
        let begin = self.unread.len();
        self.unread.resize(begin + CHUNK_BYTES, 0);
        let read = self.stream.read(&mut self.unread[begin..]);
        self.unread.truncate(begin + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => self.is_over = true,
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => self.is_over = true,
        }
    }

    /// The next event in what was read.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        if let Some(prompt) = self.prompt.take() {
            return self.take_prompt(prompt);
        }
        let length = u32::from_be_bytes(*self.unread.first_chunk::<4>()?);
        if length > MAX_MESSAGE_BYTES {
            self.is_over = true;
            return None;
        }
        let end = 4 + length as usize;
        let event = match serde_json::from_slice(self.unread.get(4..end)?) {
            Ok(request) => Event::Request(request),
            Err(_) => Event::NotUnderstood,
        };
        self.unread.drain(..end);
        Some(event)
    }

    fn take_prompt(&mut self, mut prompt: Prompt) -> Option<Event> {
        let count = usize::try_from(prompt.missing_bytes)
            .unwrap_or(usize::MAX)
            .min(self.unread.len());
        prompt.missing_bytes -= count as u64;
        let written = match &mut prompt.aside {
            Some(aside) => aside.file.write_all(&self.unread[..count]),
            None => Ok(()),
        };
        self.unread.drain(..count);
        if let Err(error) = written {
            self.discard_prompt(prompt.missing_bytes);
            return Some(Event::PromptFailed(error));
        }
        if prompt.missing_bytes > 0 {
            self.prompt = Some(prompt);
            return None;
        }
        match prompt.aside {
            Some(aside) => Some(Event::Prompt(aside)),
            None => self.next_event(),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
