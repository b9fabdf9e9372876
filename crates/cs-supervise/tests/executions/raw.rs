//! The wire as bytes: lengths and JSON, without the crate's own types.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

pub(crate) fn send(stream: &mut UnixStream, message: &Value) -> io::Result<()> {
    send_text(stream, &message.to_string())
}

pub(crate) fn send_text(stream: &mut UnixStream, message: &str) -> io::Result<()> {
    let length = u32::try_from(message.len()).unwrap();
    stream.write_all(&[&length.to_be_bytes(), message.as_bytes()].concat())
}

/// The next message; an error at the end of the connection.
pub(crate) fn receive(stream: &mut UnixStream) -> io::Result<Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

pub(crate) fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}
