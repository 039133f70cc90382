//! Resolves host names, and rejects addresses that are not allowed.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::base::{is_forbidden, is_loopback};

/// Resolves a name and drops addresses that are not allowed. If a name was allowed without encryption because it refers
/// to this machine, only loopback addresses are allowed.
#[derive(Debug)]
pub(crate) struct GuardedResolver {
    pub(crate) loopback_only: bool,
    pub(crate) lookup: Lookup,
}

/// Looks up the addresses of a name.
pub(crate) type Lookup = fn(String) -> LookupFuture;
pub(crate) type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Looks up a name with the system's resolver.
pub(crate) fn system(name: String) -> LookupFuture {
    Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let loopback_only = self.loopback_only;
        let found = (self.lookup)(name.as_str().to_owned());
        Box::pin(async move {
            Ok(Box::new(allowed(found.await?.into_iter(), loopback_only)?.into_iter()) as Addrs)
        })
    }
}

fn allowed(
    found: impl Iterator<Item = SocketAddr>,
    loopback_only: bool,
) -> Result<Vec<SocketAddr>, NotAllowed> {
    let fits = |at: &SocketAddr| !is_forbidden(at.ip()) && (!loopback_only || is_loopback(at.ip()));
    let left: Vec<_> = found.filter(fits).collect();
    if left.is_empty() { Err(NotAllowed) } else { Ok(left) }
}

/// The error for a name that resolves only to addresses that are not allowed.
#[derive(Debug, thiserror::Error)]
#[error("the host's name resolves only to addresses that are not allowed")]
pub(crate) struct NotAllowed;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_only_where_it_may() {
        let check = |found: &[&str], loopback_only| {
            let found = found.iter().map(|at| SocketAddr::new(at.parse().unwrap(), 0));
            allowed(found, loopback_only).map_or(0, |left| left.len())
        };
        assert_eq!(check(&["127.0.0.1", "::1"], true), 2);
        assert_eq!(check(&["127.0.0.1", "192.0.2.1"], true), 1);
        assert_eq!(check(&["192.0.2.1"], true), 0);
        assert_eq!(check(&["192.0.2.1", "169.254.169.254", "fe80::1"], false), 1);
        assert_eq!(check(&["::ffff:169.254.169.254"], false), 0);
    }
}
