//! Checks the address of a server, and determines the base URL of the provider's routes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use crate::provider::{EndpointError, Provider};

/// Names and addresses of cloud metadata services, apart from link-local addresses.
const METADATA_NAMES: [&str; 2] = ["metadata.google.internal", "metadata"];
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// A checked server address. Private networks are allowed, because a person configures the address; link-local and
/// metadata addresses are rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    url: Url,
    loopback: bool,
}

impl Base {
    /// Parses `scheme://host[:port][/prefix]`; an empty text means the provider's own server.
    ///
    /// Anthropic's routes are below `prefix/v1`, or below `prefix` if `prefix` already ends with `/v1`. Chat
    /// completions are directly below `prefix`, which defaults to `/v1`. Gemini's routes begin with their version, with
    /// which `prefix` may end.
    pub fn parse(
        provider: Provider,
        text: &str,
        allow_plain_http: bool,
    ) -> Result<Self, EndpointError> {
        let text = if text.is_empty() { provider.own_base() } else { text };
        let rest = after_scheme(text)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        if authority.is_empty() {
            return Err(EndpointError::Address("it has no host".to_owned()));
        }
        if authority.contains('@') {
            return Err(EndpointError::Credentials);
        }
        if rest.contains(['?', '#']) {
            return Err(EndpointError::Query);
        }
        let prefix = prefix_of(rest.get(authority.len()..).unwrap_or_default())?;
        let mut url = Url::parse(text).map_err(|e| EndpointError::Address(e.to_string()))?;
        let prefix = match (provider, prefix) {
            (Provider::Anthropic, prefix) => {
                prefix.strip_suffix("/v1").unwrap_or(prefix).to_owned() + "/v1"
            }
            (Provider::OpenAi, "") => "/v1".to_owned(),
            (Provider::OpenAi, prefix) => prefix.to_owned(),
            (Provider::Gemini, prefix) => {
                prefix.strip_suffix("/v1beta").unwrap_or(prefix).to_owned()
            }
        };
        url.set_path(&prefix);
        let loopback = check_host(&url, allow_plain_http)?;
        Ok(Self { url, loopback })
    }

    /// Returns the base of all routes; its path does not end with a slash.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns `scheme://host:port`, for display.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns whether the host is this machine. If it is given by name, the name must resolve to a loopback address.
    pub fn is_loopback(&self) -> bool {
        self.loopback
    }

    pub(crate) fn is_openai(&self) -> bool {
        self.url.host_str() == Some("api.openai.com")
    }

    pub(crate) fn route(&self, route: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{route}", self.url.path().trim_end_matches('/')));
        url
    }
}

/// Rejects mistakes that URL parsers would accept: spaces, backslashes, a missing slash.
fn after_scheme(text: &str) -> Result<&str, EndpointError> {
    let wrong = |reason: &str| Err(EndpointError::Address(reason.to_owned()));
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return wrong("it contains a space, a control character or a backslash");
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("it does not begin with https:// or http://");
    };
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => Ok(rest),
        _ => wrong("it does not begin with https:// or http://"),
    }
}

fn prefix_of(path: &str) -> Result<&str, EndpointError> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let fits = |part: &str| {
        let known = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(known)
    };
    match path.strip_prefix('/') {
        None => Ok(""),
        Some(parts) if parts.split('/').all(fits) => Ok(path),
        Some(_) => Err(EndpointError::Path),
    }
}

/// Returns whether the host is this machine. The parser has already normalized all spellings of an address.
fn check_host(url: &Url, allow_plain_http: bool) -> Result<bool, EndpointError> {
    let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
        return Err(EndpointError::Address("it has no host".to_owned()));
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    let address: Option<IpAddr> = bare.parse().ok();
    if address.is_some_and(is_forbidden) || METADATA_NAMES.contains(&bare) {
        return Err(EndpointError::ForbiddenHost { host: host.to_owned() });
    }
    let loopback = address.map_or(bare == "localhost", is_loopback);
    if url.scheme() == "http" && !loopback && !allow_plain_http {
        return Err(EndpointError::PlainHttp { host: host.to_owned() });
    }
    Ok(loopback)
}

/// Returns whether the address is loopback. Translated addresses (NAT64, 6to4) are not, because they leave this machine.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Returns whether the address is link-local or that of a metadata service.
pub(crate) fn is_forbidden(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(v4) => v4.is_link_local() || METADATA_V4.contains(&v4),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6 == METADATA_V6,
    }
}

/// Returns the IPv4 address inside a mapped, compatible or translated IPv6 address; other addresses are returned
/// unchanged.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

#[cfg(test)]
mod tests;
