//! The three pipes of a short command, moved together so that none can block another.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::{CommandError, CommandSpec};

const CHUNK_BYTES: usize = 16 * 1024;

/// The pipes of a command and what came out of them.
#[derive(Debug)]
pub(super) struct Pipes<'a> {
    stdin: Option<ChildStdin>,
    unwritten: &'a [u8],
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: Vec<u8>,
    out_cap_bytes: usize,
    err: Vec<u8>,
    err_cap_bytes: usize,
}

/// Why pumping stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pumped {
    /// Everything is written and read.
    Done,
    /// Standard output is longer than its cap.
    OverCap,
}

/// A pipe that failed, and in which direction.
#[derive(Debug)]
pub(super) struct PumpError {
    op: &'static str,
    source: io::Error,
}

impl PumpError {
    pub(super) fn of(self, spec: &CommandSpec) -> CommandError {
        super::io_error(spec, self.op, self.source)
    }
}

enum Moved {
    Written(io::Result<usize>),
    Out(io::Result<usize>),
    Err(io::Result<usize>),
}

impl<'a> Pipes<'a> {
    pub(super) fn of(child: &mut Child, spec: &'a CommandSpec) -> Self {
        Self {
            stdin: child.stdin.take(),
            unwritten: &spec.stdin,
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            out: Vec::new(),
            out_cap_bytes: spec.stdout_cap_bytes,
            err: Vec::new(),
            err_cap_bytes: spec.stderr_cap_bytes,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.stdin.is_none() && self.stdout.is_none() && self.stderr.is_none()
    }

    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Moves bytes until there is nothing left to move. Cancel safe: nothing that was moved is forgotten.
    pub(super) async fn pump(&mut self) -> Result<Pumped, PumpError> {
        // On the heap: these would be part of every future that awaits a command.
        let (mut out, mut err) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
        while !self.is_done() {
            let moved = tokio::select! {
                written = write(&mut self.stdin, self.unwritten), if self.stdin.is_some() => Moved::Written(written),
                read = read(&mut self.stdout, &mut out), if self.stdout.is_some() => Moved::Out(read),
                read = read(&mut self.stderr, &mut err), if self.stderr.is_some() => Moved::Err(read),
            };
            match moved {
                Moved::Written(written) => self.wrote(written)?,
                Moved::Out(read) => {
                    let count = read.map_err(|source| PumpError { op: "read", source })?;
                    if self.took_out(&out[..count]) == Pumped::OverCap {
                        return Ok(Pumped::OverCap);
                    }
                }
                Moved::Err(read) => {
                    let count = read.map_err(|source| PumpError { op: "read", source })?;
                    self.took_err(&err[..count]);
                }
            }
        }
        Ok(Pumped::Done)
    }

    pub(super) fn into_output(mut self) -> (Vec<u8>, Vec<u8>) {
        keep_tail(&mut self.err, self.err_cap_bytes);
        (self.out, self.err)
    }

    fn wrote(&mut self, written: io::Result<usize>) -> Result<(), PumpError> {
        match written {
            Ok(count) => self.unwritten = self.unwritten.get(count..).unwrap_or_default(),
            // A program need not read its input.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.unwritten = &[],
            Err(source) => return Err(PumpError { op: "write", source }),
        }
        if self.unwritten.is_empty() {
            self.stdin = None;
        }
        Ok(())
    }

    fn took_out(&mut self, bytes: &[u8]) -> Pumped {
        if bytes.is_empty() {
            self.stdout = None;
        }
        let room = self.out_cap_bytes - self.out.len();
        self.out.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            Pumped::OverCap
        } else {
            Pumped::Done
        }
    }

    fn took_err(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.stderr = None;
        }
        self.err.extend_from_slice(bytes);
        // Cut in strides: one move of the tail per cap's worth of bytes, not one per read.
        if self.err.len() > self.err_cap_bytes.saturating_mul(2).saturating_add(CHUNK_BYTES) {
            keep_tail(&mut self.err, self.err_cap_bytes);
        }
    }
}

fn keep_tail(bytes: &mut Vec<u8>, cap: usize) {
    bytes.drain(..bytes.len().saturating_sub(cap));
}

async fn write(pipe: &mut Option<ChildStdin>, bytes: &[u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.write(bytes).await,
        None => Ok(0),
    }
}

async fn read(pipe: &mut Option<impl AsyncReadExt + Unpin>, buffer: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => Ok(0),
    }
}
