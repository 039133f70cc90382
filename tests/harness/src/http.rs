//! A blocking HTTP/1.1 client that reuses its connection, and a way to send bytes that are not a request.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::events::EventStream;
use crate::wait::PATIENCE;

/// One request; `Client` adds Host, token and length unless the request has its own.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub anonymous: bool,
}

impl Request {
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            anonymous: false,
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.bytes("application/json", body.to_string().as_bytes())
    }

    pub fn bytes(mut self, kind: &str, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self.header("Content-Type", kind)
    }

    /// Without the bearer token.
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
    }

    fn head(&self, host: &str, token: &str) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.has("host") {
            head += &format!("Host: {host}\r\n");
        }
        if !self.anonymous && !self.has("authorization") {
            head += &format!("Authorization: Bearer {token}\r\n");
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.method != "GET" {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        head + "\r\n"
    }
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(e) => panic!("{}: not JSON ({e}): {}", self.status, self.brief()),
        }
    }

    /// The JSON of a successful answer; any other panics.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.brief());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The problem document of a refusal; any other answer panics.
    #[track_caller]
    pub fn problem(&self) -> Value {
        assert!(
            (400..500).contains(&self.status) || self.status == 503 || self.status == 507,
            "expected a refusal, got {}: {}",
            self.status,
            self.brief()
        );
        let kind = self.header("content-type").unwrap_or("");
        assert!(kind.starts_with("application/problem+json"), "{} is {kind:?}", self.status);
        let problem = self.json();
        for member in ["type", "title", "detail"] {
            let text = problem[member].as_str().unwrap_or("");
            assert!(!text.is_empty(), "`{member}` missing in {problem}");
        }
        assert_eq!(problem["status"], self.status, "{problem}");
        problem
    }

    pub fn brief(&self) -> String {
        self.text().chars().take(600).collect()
    }
}

/// A client of one daemon, with its token.
#[derive(Debug)]
pub struct Client {
    addr: SocketAddr,
    token: String,
    connection: Option<BufReader<TcpStream>>,
    patience: Duration,
}

impl Client {
    pub fn new(addr: SocketAddr, token: &str) -> Self {
        Self { addr, token: token.to_owned(), connection: None, patience: PATIENCE }
    }

    /// Waits longer for answers that take long, such as those of a real model.
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sends, and reads the whole answer. If the daemon has closed the reused connection, tries once
    /// more with a new one.
    pub fn send(&mut self, request: &Request) -> io::Result<Answer> {
        if let Some(kept) = self.connection.take() {
            match self.exchange(kept, request) {
                Err(e) if lost(&e) => {}
                done => return done,
            }
        }
        let fresh = self.connect()?;
        self.exchange(fresh, request)
    }

    #[track_caller]
    pub fn get(&mut self, path: &str) -> Answer {
        self.must(&Request::new("GET", path))
    }

    #[track_caller]
    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.must(&Request::new("POST", path).json(body))
    }

    #[track_caller]
    pub fn put(&mut self, path: &str, body: &Value) -> Answer {
        self.must(&Request::new("PUT", path).json(body))
    }

    #[track_caller]
    pub fn patch(&mut self, path: &str, body: &Value) -> Answer {
        self.must(&Request::new("PATCH", path).json(body))
    }

    #[track_caller]
    pub fn delete(&mut self, path: &str) -> Answer {
        self.must(&Request::new("DELETE", path))
    }

    /// The answer, whatever its status; panics if there is none.
    #[track_caller]
    pub fn must(&mut self, request: &Request) -> Answer {
        match self.send(request) {
            Ok(answer) => answer,
            Err(e) => panic!("{} {}: no answer: {e}", request.method, request.path),
        }
    }

    /// Sends a whole request on a separate connection, and closes it without reading the answer.
    pub fn abandon(&self, request: &Request) {
        let Ok(mut connection) = connect(self.addr) else { return };
        let mut bytes = request.head(&self.addr.to_string(), &self.token).into_bytes();
        bytes.extend_from_slice(&request.body);
        drop(connection.write_all(&bytes));
    }

    /// Opens a stream of server-sent events on a separate connection.
    #[track_caller]
    pub fn events(&self, path: &str, last_event_id: Option<&str>) -> EventStream {
        let mut request = Request::new("GET", path).header("Accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        let mut connection = self.connect().expect("connect");
        let head = request.head(&self.addr.to_string(), &self.token);
        connection.get_mut().write_all(head.as_bytes()).expect("send");
        let (status, headers) = read_head(&mut connection).expect("answer");
        assert_eq!(status, 200, "{headers:?}");
        EventStream::new(connection)
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = connect(self.addr)?;
        stream.set_read_timeout(Some(self.patience))?;
        Ok(BufReader::new(stream))
    }

    fn exchange(&mut self, mut on: BufReader<TcpStream>, request: &Request) -> io::Result<Answer> {
        let mut bytes = request.head(&self.addr.to_string(), &self.token).into_bytes();
        bytes.extend_from_slice(&request.body);
        // The daemon may refuse a large body, and close the connection, before all of it is sent.
        let sent = on.get_mut().write_all(&bytes);
        let (answer, keep) = match read_answer(&mut on) {
            Ok(read) => read,
            Err(e) => return Err(sent.err().unwrap_or(e)),
        };
        if keep && sent.is_ok() {
            self.connection = Some(on);
        }
        Ok(answer)
    }
}

/// Sends bytes as they are on a new connection, closes its sending half, and reads the answer: `None` if
/// the daemon only closes the connection.
pub fn raw(addr: SocketAddr, bytes: &[u8]) -> io::Result<Option<Answer>> {
    let mut stream = connect(addr)?;
    let sent = stream.write_all(bytes).and_then(|()| stream.shutdown(Shutdown::Write));
    if let Err(e) = sent
        && !lost(&e)
        && e.kind() != io::ErrorKind::NotConnected
    {
        return Err(e);
    }
    match read_answer(&mut BufReader::new(stream)) {
        Ok((answer, _)) => Ok(Some(answer)),
        Err(e) if lost(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether the connection ended, and did not just time out.
pub fn lost(e: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(e.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// A connection whose reads and writes time out after [`PATIENCE`].
pub fn connect(addr: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

type Head = (u16, Vec<(String, String)>);

fn read_head(from: &mut impl BufRead) -> io::Result<Head> {
    let first = line(from)?;
    let status = first.split(' ').nth(1).and_then(|s| s.parse().ok());
    let Some(status) = status else { return Err(io::Error::other(format!("no status: {first}"))) };
    let mut headers = Vec::new();
    loop {
        let line = line(from)?;
        match line.split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => return Ok((status, headers)),
        }
    }
}

fn read_answer(from: &mut impl BufRead) -> io::Result<(Answer, bool)> {
    let (status, headers) = read_head(from)?;
    let mut answer = Answer { status, headers, body: Vec::new() };
    let length = answer.header("content-length").and_then(|l| l.parse::<usize>().ok());
    let mut keep = answer.header("connection") != Some("close");
    match length {
        Some(length) => {
            answer.body.resize(length, 0);
            from.read_exact(&mut answer.body)?;
        }
        None if answer.header("transfer-encoding") == Some("chunked") => {
            while let Some(mut chunk) = chunk(from)? {
                answer.body.append(&mut chunk);
            }
        }
        None if matches!(status, 204 | 304) => {}
        None => {
            keep = false;
            from.read_to_end(&mut answer.body)?;
        }
    }
    Ok((answer, keep))
}

/// The next chunk of a chunked body; `None` at its end.
pub(crate) fn chunk(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let size = line(from)?;
    let size = usize::from_str_radix(size.split(';').next().unwrap_or(""), 16)
        .map_err(|e| io::Error::other(format!("chunk size {size:?}: {e}")))?;
    let mut chunk = vec![0; size];
    from.read_exact(&mut chunk)?;
    line(from)?;
    Ok((size > 0).then_some(chunk))
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}
