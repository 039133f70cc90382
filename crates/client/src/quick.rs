//! One request with a deadline, for a process that runs for a few milliseconds.
//!
//! A hook runs on each prompt and after each tool. A runtime and a connection pool would cost more than the request
//! itself, so this uses a plain socket and [`exchange`]. All other code uses [`Client`](crate::Client).

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use bethink_credentials::Nonce;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::address::{AddressError, DaemonAddress};
use crate::exchange::{self, PlainAnswer};
use crate::places::{Contact, DaemonPlaces};
use crate::proof::{ExpectedDaemon, MOST_PROOF_BYTES, ProofError};

/// Time allowed for writing a request after the deadline. A hanging daemon reads the request from its socket later, and then
/// checks the spool.
const LAST_TRY: Duration = Duration::from_millis(1);

/// Maximum size of an answer, in bytes: several times the longest text of a hook, escaped.
const MOST_ANSWER_BYTES: usize = 256 << 10;

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuickError {
    #[error("no daemon is running for {home}")]
    NotRunning { home: String },
    #[error("the daemon did not answer within {} ms", .0.as_millis())]
    Late(Duration),
    #[error("the connection to the daemon broke")]
    Broken(#[source] io::Error),
    #[error("could not read the daemon's answer")]
    Garbled,
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Another program answers at the daemon's address.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

/// Posts JSON and waits at most `patience` for the whole answer.
pub fn post(
    places: &DaemonPlaces,
    path: &str,
    body: &str,
    patience: Duration,
) -> Result<PlainAnswer, QuickError> {
    let until = Instant::now() + patience;
    let home = || places.home.path().display().to_string();
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => QuickError::Late(patience),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            QuickError::NotRunning { home: home() }
        }
        _ => QuickError::Broken(error),
    };
    let contact = places.contact().ok_or_else(|| QuickError::NotRunning { home: home() })?;
    let (mut stream, request): (Box<dyn Timed>, String) = match contact {
        Contact::Socket(socket) => {
            let stream = unix(&socket).map_err(told)?;
            (Box::new(stream), exchange::post(path, body, "localhost", None))
        }
        Contact::Tcp(url) => {
            let daemon = places.expected(DaemonAddress::parse(&url)?)?;
            let mut stream = tcp(&daemon.address, until).map_err(told)?;
            let nonce = Nonce::random();
            let proof = ask(&mut stream, &daemon, &nonce, until).map_err(told)?;
            daemon.check(&nonce, &proof)?;
            // The token of hooks gives less access than the home's token, which no hook needs.
            let (host, token) = (daemon.address.authority(), daemon.token.of_hooks());
            (Box::new(stream), exchange::post(path, body, &host, Some(token.expose())))
        }
    };
    send(&mut *stream, request.as_bytes(), until).map_err(told)?;
    let answer = receive(&mut *stream, MOST_ANSWER_BYTES, until).map_err(told)?;
    exchange::parse(&answer).ok_or(QuickError::Garbled)
}

/// A stream with timeouts.
trait Timed: Read + Write + AsFd {
    fn wait_at_most(&self, wait: Duration) -> io::Result<()> {
        set_socket_timeout(self, Timeout::Recv, Some(wait))?;
        Ok(set_socket_timeout(self, Timeout::Send, Some(wait))?)
    }
}

impl Timed for UnixStream {}
impl Timed for TcpStream {}

fn tcp(address: &DaemonAddress, until: Instant) -> io::Result<TcpStream> {
    let address = address.target().to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let stream = TcpStream::connect_timeout(&address, left(until)?)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Asks for a proof. The event is sent on the same connection, so that no other program can get it.
fn ask(
    stream: &mut TcpStream,
    daemon: &ExpectedDaemon,
    nonce: &Nonce,
    until: Instant,
) -> io::Result<Vec<u8>> {
    send(stream, daemon.question(nonce).as_bytes(), until)?;
    receive(stream, MOST_PROOF_BYTES, until)
}

/// Connects without blocking: if the daemon is suspended, its connection queue fills up, and `connect` would hang.
fn unix(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    // A timeout of zero means no timeout.
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn send(stream: &mut dyn Timed, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.wait_at_most(left(until).unwrap_or(LAST_TRY))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until the connection ends or the announced length is reached.
fn receive(stream: &mut dyn Timed, most: usize, until: Instant) -> io::Result<Vec<u8>> {
    let (mut answer, mut buffer) = (Vec::new(), [0; 16 << 10]);
    loop {
        if exchange::is_whole(&answer) {
            return Ok(answer);
        }
        stream.wait_at_most(left(until)?)?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(answer),
            Ok(read) => answer.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if answer.len() > most {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread::spawn;

    use super::*;

    fn home() -> (tempfile::TempDir, DaemonPlaces) {
        let dir = tempfile::tempdir().unwrap();
        let places = DaemonPlaces::at(dir.path().to_owned());
        (dir, places)
    }

    /// A daemon that reads a request and answers with these bytes.
    fn answering(places: &DaemonPlaces, answer: &'static [u8]) -> std::thread::JoinHandle<String> {
        let listener = UnixListener::bind(places.home.socket()).unwrap();
        spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
            while !request.ends_with(b"{\"a\":1}") {
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
            }
            stream.write_all(answer).unwrap();
            String::from_utf8(request).unwrap()
        })
    }

    fn ask(places: &DaemonPlaces, patience: u64) -> Result<PlainAnswer, QuickError> {
        post(places, "/v1/hooks/stop", r#"{"a":1}"#, Duration::from_millis(patience))
    }

    #[test]
    fn an_answer_is_read_whole_and_no_further() {
        let (_dir, places) = home();
        let daemon = answering(
            &places,
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nContent-Length: 2\r\n\r\n{}more",
        );
        let answer = ask(&places, 5_000).unwrap();
        assert_eq!(answer, PlainAnswer { status: 200, body: "{}".to_owned() });
        let request = daemon.join().unwrap();
        assert!(request.starts_with("POST /v1/hooks/stop HTTP/1.1\r\nHost: localhost\r\n"));
        assert!(request.contains("Content-Length: 7\r\n") && !request.contains("Authorization"));
    }

    #[test]
    fn what_is_no_answer_is_garbled() {
        for answer in
            [&b"nonsense\r\n\r\n"[..], b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"]
        {
            let (_dir, places) = home();
            let daemon = answering(&places, answer);
            let error = ask(&places, 5_000).unwrap_err();
            assert!(matches!(error, QuickError::Garbled), "{error:?}");
            daemon.join().unwrap();
        }
    }

    #[test]
    fn a_request_is_left_in_the_socket_though_nobody_can_wait_for_its_answer() {
        let (_dir, places) = home();
        let daemon = answering(&places, b"");
        assert!(matches!(ask(&places, 0), Err(QuickError::Late(_))));
        assert!(daemon.join().unwrap().ends_with(r#"{"a":1}"#));
    }

    #[test]
    fn nobody_there_is_told_at_once() {
        let (_dir, places) = home();
        assert!(matches!(ask(&places, 5_000), Err(QuickError::NotRunning { .. })));
        // A dead daemon's socket, and the file with its address.
        drop(UnixListener::bind(places.home.socket()).unwrap());
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let file = format!(r#"{{"url":"http://{free}","pid":1,"version":"0"}}"#);
        std::fs::write(places.home.daemon_file(), file).unwrap();
        assert!(matches!(ask(&places, 5_000), Err(QuickError::NotRunning { .. })));
    }

    #[test]
    fn one_that_hangs_is_given_up_in_time() {
        let (_dir, places) = home();
        let _hangs = UnixListener::bind(places.home.socket()).unwrap();
        let begun = Instant::now();
        assert!(matches!(ask(&places, 30), Err(QuickError::Late(_))));
        assert!(begun.elapsed() >= Duration::from_millis(30));
    }

    #[test]
    fn one_whose_queue_is_full_is_not_waited_for() {
        let (_dir, places) = home();
        let flags = SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(places.home.socket()).unwrap()).unwrap();
        rustix::net::listen(&socket, 0).unwrap();
        let _waits: Vec<_> = (0..3).map_while(|_| unix(&places.home.socket()).ok()).collect();
        let begun = Instant::now();
        assert!(matches!(ask(&places, 60_000), Err(QuickError::Late(_))));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
