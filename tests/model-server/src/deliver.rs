//! Sends a response over a connection, correctly or with a fault.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::ask::Wire;
use crate::bomb;
use crate::fault::Fault;
use crate::http::{END, Framing, chunk, head};
use crate::payload::{self, Payload};
use crate::script::Split;

/// Maximum size of an endless answer, so that a forgotten server stops.
const MOST_ENDLESS: usize = 1 << 30;
/// By how much a wrong `Content-Length` is too long.
const MISSING: usize = 1000;

/// How to send a response.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) fault: Option<Fault>,
    pub(crate) wire: Wire,
    pub(crate) split: Split,
    pub(crate) pace: Duration,
    pub(crate) drip: Duration,
    /// The address of a redirect, which clients must not connect to.
    pub(crate) elsewhere: String,
}

/// The state of a connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Kept,
    Closed,
    /// The client disconnected before the end.
    Left,
}

pub(crate) async fn deliver(
    stream: &mut TcpStream,
    payload: &Payload,
    manner: &Manner,
) -> io::Result<After> {
    let Some(fault) = manner.fault else { return well(stream, payload, manner).await };
    let half = halves(payload);
    match fault {
        Fault::HangBeforeHeaders => {}
        Fault::HangInHeaders => {
            let bytes = head(200, payload.kind, &payload.headers, Framing::Chunked);
            stream.write_all(&bytes[..bytes.len() / 2]).await?;
        }
        Fault::HangAfterHeaders => begin(stream, payload).await?,
        Fault::HangMidStream => {
            begin(stream, payload).await?;
            stream.write_all(&chunk(&half)).await?;
        }
        Fault::OneByteASecond => return drip(stream, payload, manner.drip).await,
        Fault::CloseBeforeHeaders => return Ok(After::Closed),
        Fault::ResetBeforeHeaders => return reset(stream),
        Fault::ResetMidStream => {
            begin(stream, payload).await?;
            stream.write_all(&chunk(&half)).await?;
            return reset(stream);
        }
        Fault::HalfClose => {
            begin(stream, payload).await?;
            stream.write_all(&chunk(&half)).await?;
            stream.shutdown().await?;
        }
        Fault::LengthTooLong => return misframed(stream, payload, |n| n + MISSING).await,
        Fault::LengthTooShort => return misframed(stream, payload, |n| n / 2).await,
        Fault::NotHttp => {
            stream.write_all(b"220 mail.example ESMTP ready\r\n250 OK\r\n").await?;
            return Ok(After::Closed);
        }
        Fault::HtmlOk => return well(stream, &Payload::page(), manner).await,
        Fault::Redirect => {
            let mut redirect = Payload::plain(307, "text/plain", "elsewhere".to_owned());
            redirect.headers.push(("location", manner.elsewhere.clone()));
            return well(stream, &redirect, manner).await;
        }
        Fault::HugeStream | Fault::HugeEvent => {
            return endless(stream, payload, manner, fault).await;
        }
        Fault::GzipBomb => return explode(stream, payload).await,
        _ => return well(stream, payload, manner).await,
    }
    Ok(hold(stream).await)
}

/// Sends nothing more, and waits until the client disconnects.
async fn hold(stream: &mut TcpStream) -> After {
    let mut sink = [0; 4096];
    while let Ok(1..) = stream.read(&mut sink).await {}
    After::Left
}

pub(crate) fn reset(stream: &TcpStream) -> io::Result<After> {
    stream.set_zero_linger()?;
    Ok(After::Closed)
}

async fn well(stream: &mut TcpStream, payload: &Payload, manner: &Manner) -> io::Result<After> {
    let pieces = match manner.split {
        Split::Whole => vec![payload.bytes()],
        Split::Events => payload.pieces.clone(),
        Split::Bytes(n) => payload.bytes().chunks(n.max(1)).map(<[u8]>::to_vec).collect(),
        Split::At(at) => {
            let bytes = payload.bytes();
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            vec![first.to_vec(), second.to_vec()]
        }
    };
    if payload.stream {
        begin(stream, payload).await?;
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            stream.write_all(&chunk(piece)).await?;
            if !manner.pace.is_zero() && pause(stream, manner.pace).await {
                return Ok(After::Left);
            }
        }
        stream.write_all(END).await?;
    } else {
        let length = pieces.iter().map(Vec::len).sum();
        let head = head(payload.status, payload.kind, &payload.headers, Framing::Length(length));
        stream.write_all(&head).await?;
        for piece in &pieces {
            stream.write_all(piece).await?;
        }
    }
    Ok(After::Kept)
}

/// Returns whether the client has disconnected.
async fn pause(stream: &mut TcpStream, pace: Duration) -> bool {
    let mut sink = [0; 64];
    tokio::select! {
        () = tokio::time::sleep(pace) => false,
        read = stream.peek(&mut sink) => matches!(read, Ok(0) | Err(_)),
    }
}

async fn begin(stream: &mut TcpStream, payload: &Payload) -> io::Result<()> {
    stream.write_all(&head(payload.status, payload.kind, &payload.headers, Framing::Chunked)).await
}

/// Returns the first half of the body, but at least the beginning of a stream.
fn halves(payload: &Payload) -> Vec<u8> {
    if payload.stream {
        let most = payload.pieces.len() / 2;
        return payload.pieces[..most.max(payload.opening).min(payload.pieces.len())].concat();
    }
    let bytes = payload.bytes();
    bytes[..bytes.len() / 2].to_vec()
}

async fn drip(stream: &mut TcpStream, payload: &Payload, every: Duration) -> io::Result<After> {
    begin(stream, payload).await?;
    let mut sink = [0; 64];
    for byte in payload.bytes() {
        stream.write_all(&chunk(&[byte])).await?;
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = stream.read(&mut sink) => return Ok(After::Left),
        }
    }
    stream.write_all(END).await?;
    Ok(After::Kept)
}

async fn misframed(
    stream: &mut TcpStream,
    payload: &Payload,
    lie: impl Fn(usize) -> usize,
) -> io::Result<After> {
    let body = payload.bytes();
    let framing = Framing::Length(lie(body.len()));
    stream.write_all(&head(payload.status, payload.kind, &payload.headers, framing)).await?;
    stream.write_all(&body).await?;
    Ok(After::Closed)
}

async fn endless(
    stream: &mut TcpStream,
    payload: &Payload,
    manner: &Manner,
    fault: Fault,
) -> io::Result<After> {
    begin(stream, payload).await?;
    let filler = "and so on ".repeat(400);
    let (start, piece) = match (payload.stream, fault) {
        (true, Fault::HugeStream) => {
            let opening = payload.pieces[..payload.opening.min(payload.pieces.len())].concat();
            (opening, payload::more(manner.wire, &filler))
        }
        // A string without an end.
        (true, _) => (b"data: {\"type\":\"content_block_delta\",\"text\":\"".to_vec(), filler),
        (false, _) => (b"{\"id\":\"".to_vec(), filler),
    };
    stream.write_all(&chunk(&start)).await?;
    let piece = chunk(piece.as_bytes());
    for _ in 0..MOST_ENDLESS / piece.len() {
        if stream.write_all(&piece).await.is_err() {
            return Ok(After::Left);
        }
    }
    Ok(After::Closed)
}

async fn explode(stream: &mut TcpStream, payload: &Payload) -> io::Result<After> {
    let mut headers = payload.headers.clone();
    headers.push(("content-encoding", "gzip".to_owned()));
    let head = head(200, payload.kind, &headers, Framing::Chunked);
    stream.write_all(&head).await?;
    stream.write_all(&chunk(&bomb::HEAD)).await?;
    let block = chunk(&bomb::block());
    for _ in 0..bomb::BLOCKS {
        if stream.write_all(&block).await.is_err() {
            return Ok(After::Left);
        }
    }
    stream.write_all(END).await?;
    Ok(After::Kept)
}
