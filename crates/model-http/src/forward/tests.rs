use std::net::SocketAddr;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::*;
use crate::key::KeySource;
use crate::resolve::{Lookup, system};

fn line(base: &str, lookup: Lookup) -> Forwarder {
    let key = KeySource::Command("echo sk-canary".into());
    let (base_url, own) = (base.to_owned(), Endpoint::own(Provider::Anthropic));
    let endpoint = Endpoint { base_url, key, allow_plain_http: true, ..own };
    Forwarder { client: Connector::looking_up(lookup), ..Forwarder::open(&endpoint).unwrap() }
}

async fn refused(line: &Forwarder) -> ModelError {
    let outgoing = OutgoingRequest {
        method: Method::POST,
        route: "messages".into(),
        query: None,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        with_key: true,
    };
    *line.send(outgoing).await.err().unwrap()
}

#[tokio::test]
async fn a_name_may_not_lead_to_the_clouds_credentials() {
    let to = |_| -> crate::resolve::LookupFuture {
        Box::pin(async { Ok(vec![SocketAddr::from(([169, 254, 169, 254], 0))]) })
    };
    for base in ["http://models.example", "https://models.example"] {
        let error = refused(&line(base, to)).await;
        assert_eq!(error.class, ErrorClass::Forbidden, "{base}: {error}");
    }
}

#[tokio::test]
async fn localhost_may_not_lead_away() {
    let away = |_| -> crate::resolve::LookupFuture {
        Box::pin(async { Ok(vec![SocketAddr::from(([192, 0, 2, 1], 0))]) })
    };
    let error = refused(&line("http://localhost:9", away)).await;
    assert_eq!(error.class, ErrorClass::Forbidden, "{error}");
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_unreachable() {
    let nowhere = |_| -> crate::resolve::LookupFuture {
        Box::pin(async { Err(std::io::Error::other("no such name")) })
    };
    let error = refused(&line("https://models.example", nowhere)).await;
    assert_eq!(error.class, ErrorClass::Unreachable, "{error}");
    assert!(error.message.contains("no such name"), "{error}");
}

#[tokio::test]
async fn https_begins_with_a_handshake_and_not_with_a_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let line = line(&base, system);
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut first = vec![0; 5];
        socket.read_exact(&mut first).await.unwrap();
        first
    };
    let (first, error) = tokio::join!(server, refused(&line));
    assert_eq!(first.get(..2), Some(&[22, 3][..]), "a TLS record with a handshake");
    assert_eq!(error.class, ErrorClass::Unreachable, "{error}");
}
