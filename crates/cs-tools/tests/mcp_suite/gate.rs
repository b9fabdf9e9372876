//! What stands between the suite and a door.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

use crate::host::Place;

/// One request as it came.
struct Request {
    method: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

async fn read(from: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Request>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut body).await?;
    let first = lines.remove(0);
    Ok(Some(Request {
        method: first.split(' ').next().unwrap().to_owned(),
        headers: lines,
        body,
    }))
}

/// Adds the token and the door's own address.
pub(crate) async fn with_token(url: &str, token: &str) -> u16 {
    let (authority, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (authority, path, token) = (authority.to_owned(), path.to_owned(), token.to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (authority, path, token) = (authority.clone(), path.clone(), token.clone());
            tokio::spawn(async move {
                let (mut door_from, mut door_to) = TcpStream::connect(&authority).await?.into_split();
                let (from, mut to) = stream.into_split();
                tokio::spawn(async move { copy(&mut door_from, &mut to).await });
                let mut from = BufReader::new(from);
                while let Some(request) = read(&mut from).await? {
                    let mut head = format!(
                        "{} /{path} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n",
                        request.method
                    );
                    for header in &request.headers {
                        if !header.to_ascii_lowercase().starts_with("host:") {
                            head.push_str(&format!("{header}\r\n"));
                        }
                    }
                    head.push_str("\r\n");
                    door_to
                        .write_all(&[head.as_bytes(), &request.body].concat())
                        .await?;
                }
                io::Result::Ok(())
            });
        }
    });
    port
}

/// A bridge, spoken to one message after the other.
struct Bridge {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    _bridge: Child,
    _place: Place,
}

/// Hands each message to a bridge.
pub(crate) async fn lines(program: &Path, place: Place) -> u16 {
    let mut bridge = Command::new(program)
        .args(["mcp", "--execution"])
        .arg(place.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let bridge = Bridge {
        to: bridge.stdin.take().unwrap(),
        from: BufReader::new(bridge.stdout.take().unwrap()),
        _bridge: bridge,
        _place: place,
    };
    let bridge = Arc::new(Mutex::new(bridge));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let bridge = Arc::clone(&bridge);
            tokio::spawn(async move {
                let (from, mut to) = stream.into_split();
                let mut from = BufReader::new(from);
                while let Some(request) = read(&mut from).await? {
                    let answer = if request.method == "POST" {
                        bridge.lock().await.answer(&request.body).await?
                    } else {
                        "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n".to_owned()
                    };
                    to.write_all(answer.as_bytes()).await?;
                }
                io::Result::Ok(())
            });
        }
    });
    port
}

impl Bridge {
    async fn answer(&mut self, message: &[u8]) -> io::Result<String> {
        self.to.write_all(&[message, b"\n"].concat()).await?;
        let message: Value = serde_json::from_slice(message)?;
        if message.get("id").is_none() || message.get("method").is_none() {
            return Ok("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned());
        }
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if serde_json::from_str::<Value>(&line)?["id"] == message["id"] {
                return Ok(format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{line}",
                    line.len()
                ));
            }
        }
    }
}
