//! A door for clients that can send no headers of their own: adds the token and the project to what comes through.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Forwards to a daemon until the process ends. Each request has a connection of its own.
pub(crate) fn open(daemon: SocketAddr, token: &str, project: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let door = listener.local_addr().unwrap();
    let added = format!(
        "Authorization: Bearer {token}\r\nX-Bethink-Project: {project}\r\nConnection: close\r\n"
    );
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let added = added.clone();
            thread::spawn(move || drop(forward(&client, door, daemon, &added)));
        }
    });
    door
}

fn forward(
    client: &TcpStream,
    door: SocketAddr,
    daemon: SocketAddr,
    added: &str,
) -> std::io::Result<()> {
    let mut from = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.trim_end().split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "connection" => continue,
            "content-length" => length = value.trim().parse().unwrap_or(0),
            // Our own name becomes the daemon's; somebody else's stays as it is, to be refused.
            "host" | "origin" => {
                for own in [door.to_string(), format!("localhost:{}", door.port())] {
                    line = line.replace(&own, &daemon.to_string());
                }
            }
            _ => {}
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    let mut upstream = TcpStream::connect(daemon)?;
    upstream.write_all(format!("{head}{added}\r\n").as_bytes())?;
    upstream.write_all(&body)?;
    std::io::copy(&mut upstream, &mut &*client)?;
    client.shutdown(std::net::Shutdown::Both)
}
