//! The address of a daemon that is reached over TCP.

use reqwest::Url;

/// A daemon's TCP address.
#[derive(Clone, Debug)]
pub(crate) struct DaemonAddress(Url);

#[derive(Debug, thiserror::Error)]
#[error("{url:?} is not a valid daemon address: {reason}; use http://HOST:PORT")]
pub struct AddressError {
    pub url: String,
    pub reason: String,
}

impl DaemonAddress {
    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        let wrong = |reason: String| AddressError { url: text.to_owned(), reason };
        let mut url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        if url.scheme() != "http" || url.cannot_be_a_base() {
            return Err(wrong("only plain http is supported".into()));
        }
        // A daemon listens on 127.0.0.1. `localhost` may also be ::1, where another program can have the same port.
        if url.host_str() == Some("localhost") {
            url.set_host(Some("127.0.0.1")).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(Self(url))
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Returns `HOST:PORT` for the `Host` header.
    pub(crate) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Returns `HOST:PORT` to connect to.
    pub(crate) fn target(&self) -> String {
        format!("{}:{}", self.0.host_str().unwrap_or_default(), self.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_host_and_port() {
        for (url, authority, target) in [
            ("http://127.0.0.1:4747", "127.0.0.1:4747", "127.0.0.1:4747"),
            ("http://localhost:9/", "127.0.0.1:9", "127.0.0.1:9"),
            ("http://[::1]:9", "[::1]:9", "[::1]:9"),
            ("http://box.example", "box.example", "box.example:80"),
        ] {
            let address = DaemonAddress::parse(url).unwrap();
            assert_eq!(
                (address.authority().as_str(), address.target().as_str()),
                (authority, target)
            );
        }
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        for url in ["", "localhost:4747", "https://x", "http://", "unix:/x"] {
            let refused = DaemonAddress::parse(url).unwrap_err();
            assert_eq!(refused.url, url);
        }
    }
}
