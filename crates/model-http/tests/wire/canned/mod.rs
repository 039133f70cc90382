//! A server that sends given bytes, and records the requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bethink_model::{ModelError, ModelRequest, Reply};
use bethink_model_http::{Endpoint, HttpLimits, KeySource, Provider, open};
use bethink_transcript::{PromptMessage, Seq, ValidPrompt};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How a response ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Close,
    Reset,
    /// The connection stays open without more data.
    Hold,
}

#[derive(Clone)]
pub(crate) struct Script {
    /// Pieces that are written separately.
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) end: End,
}

pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Script {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    Script { pieces: vec![[head.as_bytes(), body].concat()], end: End::Close }
}

pub(crate) fn json(body: &str) -> Script {
    answer("200 OK", "content-type: application/json\r\n", body.as_bytes())
}

pub(crate) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_9\r\nconnection: close\r\n\r\n";

/// Returns a stream that ends when the connection is closed.
pub(crate) fn stream(pieces: &[&[u8]]) -> Script {
    let head = STREAM_HEAD.as_bytes().to_vec();
    let pieces = std::iter::once(head).chain(pieces.iter().map(|p| p.to_vec())).collect();
    Script { pieces, end: End::Close }
}

/// A server that uses the next script for each connection, and repeats the last one.
pub(crate) struct Canned {
    pub(crate) base: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Canned {
    pub(crate) async fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = heard.clone();
        tokio::spawn(async move {
            for at in 0.. {
                let Ok((mut socket, _)) = listener.accept().await else { return };
                let script = scripts[at.min(scripts.len() - 1)].clone();
                let kept = kept.clone();
                tokio::spawn(async move {
                    let request = read_request(&mut socket).await;
                    kept.lock().unwrap().push(request);
                    play(socket, script).await;
                });
            }
        });
        Self { base, heard }
    }

    /// Returns the requests with their headers, in order of arrival.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn endpoint(&self, provider: Provider) -> Endpoint {
        Endpoint {
            base_url: self.base.clone(),
            key: KeySource::None,
            limits: HttpLimits { idle: Duration::from_secs(20), ..HttpLimits::default() },
            ..Endpoint::own(provider)
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_lowercase();
            let length = lower.split("content-length: ").nth(1).and_then(|l| l.lines().next());
            if body.len() >= length.map_or(0, |l| l.trim().parse().unwrap()) {
                return text.into_owned();
            }
        }
        match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => return text.into_owned(),
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

async fn play(mut socket: TcpStream, script: Script) {
    socket.set_nodelay(true).unwrap();
    for piece in &script.pieces {
        // A client may disconnect early.
        if socket.write_all(piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    match script.end {
        End::Close => drop(socket.shutdown().await),
        End::Reset => socket.set_zero_linger().unwrap(),
        End::Hold => while matches!(socket.read(&mut [0; 64]).await, Ok(read) if read > 0) {},
    }
}

pub(crate) fn request() -> ModelRequest {
    let prompt = ValidPrompt::check(vec![PromptMessage::said("hi", Seq(1), 1)]).unwrap();
    ModelRequest {
        model: "m-1".into(),
        system: Bytes::from_static(br#"[{"type":"text","text":"be brief"}]"#),
        tools: Bytes::from_static(b"[]"),
        prompt,
        marks: Vec::new(),
        max_tokens: 64,
        form: Default::default(),
    }
}

pub(crate) async fn call(endpoint: &Endpoint) -> Result<Reply, ModelError> {
    open(endpoint).unwrap().call(&request()).await
}

/// Makes a call to a server with this script.
pub(crate) async fn asked(provider: Provider, script: Script) -> Result<Reply, ModelError> {
    let server = Canned::start(vec![script]).await;
    call(&server.endpoint(provider)).await
}

pub(crate) async fn error(provider: Provider, script: Script) -> ModelError {
    asked(provider, script).await.unwrap_err()
}

/// Formats a reply for comparison.
pub(crate) fn shown(reply: &Reply) -> String {
    let blocks: Vec<&str> = reply.content.iter().map(bethink_transcript::Block::as_str).collect();
    let usage = &reply.usage;
    format!(
        "{} {} [{}] {:?} {}+{}+{}→{}{}",
        reply.id,
        reply.model,
        blocks.join(","),
        reply.stop,
        usage.input_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
        usage.output_tokens,
        if reply.usage_doubtful { "?" } else { "" }
    )
}
