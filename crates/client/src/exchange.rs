//! The subset of HTTP/1.1 that our daemon speaks: one request, and an answer of a known length.
//!
//! For exchanges that are too early or too short for an HTTP library: a hook's event, and the check that a daemon is
//! the expected one.

/// The daemon's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainAnswer {
    pub status: u16,
    pub body: String,
}

/// Returns a `GET` request without a body, after which the connection stays open.
pub(crate) fn get(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// Returns a `POST` request with JSON, after which the connection is closed.
pub(crate) fn post(path: &str, body: &str, host: &str, token: Option<&str>) -> String {
    let access =
        token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\n{access}Content-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Returns whether a response is complete: its body is at least as long as `Content-Length` says.
pub(crate) fn is_whole(answer: &[u8]) -> bool {
    split(answer)
        .is_some_and(|(head, body)| length(head).is_some_and(|length| body.len() >= length))
}

fn split(answer: &[u8]) -> Option<(&str, &[u8])> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((std::str::from_utf8(&answer[..end]).ok()?, &answer[end + 4..]))
}

fn length(head: &str) -> Option<usize> {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    let (_, length) = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    length.trim().parse().ok()
}

/// Parses an answer. The daemon sends the length of every answer that is not a stream.
pub(crate) fn parse(answer: &[u8]) -> Option<PlainAnswer> {
    let (head, body) = split(answer)?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let body = body.get(..length(head)?)?;
    Some(PlainAnswer { status, body: std::str::from_utf8(body).ok()?.to_owned() })
}
