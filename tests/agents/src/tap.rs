//! A forwarder between an agent and the gateway, which records what the agent sends. Its address stays the same when
//! the daemon gets another one.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Debug)]
pub(crate) struct Tap {
    addr: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    to: Option<SocketAddr>,
    /// Everything that was sent, connection by connection.
    sent: Vec<Vec<u8>>,
}

impl Tap {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = listener.local_addr().expect("an address");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let kept = Arc::clone(&shared);
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                let shared = Arc::clone(&kept);
                thread::spawn(move || forward(from, &shared));
            }
        });
        Self { addr, shared }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Forwards new connections to this address.
    pub(crate) fn lead_to(&self, addr: SocketAddr) {
        self.shared.lock().unwrap().to = Some(addr);
    }

    /// Returns whether an agent sent these bytes.
    pub(crate) fn has_sent(&self, bytes: &[u8]) -> bool {
        let shared = self.shared.lock().unwrap();
        let mut sent = shared.sent.iter();
        sent.any(|sent| sent.windows(bytes.len().max(1)).any(|window| window == bytes))
    }
}

/// Forwards until one side ends. A connection is closed if no daemon is running.
fn forward(mut from: TcpStream, shared: &Mutex<Shared>) {
    let (to, number) = {
        let mut shared = shared.lock().unwrap();
        shared.sent.push(Vec::new());
        (shared.to, shared.sent.len() - 1)
    };
    let Some(Ok(mut to)) = to.map(TcpStream::connect) else { return };
    let (Ok(mut answers), Ok(mut back)) = (to.try_clone(), from.try_clone()) else { return };
    thread::spawn(move || {
        let _ = std::io::copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        shared.lock().unwrap().sent[number].extend_from_slice(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
