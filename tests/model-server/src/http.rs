//! A simple HTTP/1.1 implementation, which can send invalid responses.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum size of a request, in bytes.
const MOST_BODY: usize = 256 << 20;
const MOST_HEAD: usize = 256 << 10;

#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Without the question mark.
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Reads the next request; `None` if the client sends no more. `rest` has the bytes that were already read.
pub(crate) async fn read(
    stream: &mut TcpStream,
    rest: &mut Vec<u8>,
) -> io::Result<Option<Incoming>> {
    let end = loop {
        if let Some(at) = rest.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        if rest.len() > MOST_HEAD {
            return Err(io::Error::other("the head is too long"));
        }
        if stream.read_buf(rest).await? == 0 {
            return Ok(None);
        }
    };
    let head: Vec<u8> = rest.drain(..end).collect();
    let mut incoming = parse(&String::from_utf8_lossy(&head))?;
    if incoming.header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    incoming.body = if incoming.header("transfer-encoding") == Some("chunked") {
        chunked(stream, rest).await?
    } else {
        let length = incoming.header("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
        take(stream, rest, length).await?
    };
    Ok(Some(incoming))
}

fn parse(head: &str) -> io::Result<Incoming> {
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or("").split(' ');
    let (Some(method), Some(path)) = (first.next(), first.next()) else {
        return Err(io::Error::other("no request line"));
    };
    let header = |line: &str| {
        line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
    };
    Ok(Incoming {
        method: method.to_owned(),
        path: path.split('?').next().unwrap_or("").to_owned(),
        query: path.split_once('?').map_or("", |(_, query)| query).to_owned(),
        headers: lines.filter_map(header).collect(),
        body: Vec::new(),
    })
}

async fn take(stream: &mut TcpStream, rest: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    if length > MOST_BODY {
        return Err(io::Error::other("the body is too long"));
    }
    while rest.len() < length {
        if stream.read_buf(rest).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(rest.drain(..length).collect())
}

async fn chunked(stream: &mut TcpStream, rest: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = loop {
            if let Some(at) = rest.windows(2).position(|w| w == b"\r\n") {
                break rest.drain(..at + 2).collect::<Vec<u8>>();
            }
            if stream.read_buf(rest).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let size = String::from_utf8_lossy(&line);
        let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
        body.extend(take(stream, rest, size).await?);
        take(stream, rest, 2).await?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
}

/// Writes status line, headers and the empty line.
pub(crate) fn head(
    status: u16,
    kind: &str,
    headers: &[(&'static str, String)],
    framing: Framing,
) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\n", reason(status));
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &match framing {
        Framing::Length(length) => format!("content-length: {length}\r\n"),
        Framing::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
    };
    (text + "\r\n").into_bytes()
}

/// Encodes a piece of a body as a chunk.
pub(crate) fn chunk(piece: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Returns the end of a chunked body.
pub(crate) const END: &[u8] = b"0\r\n\r\n";

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Unnamed",
    }
}
