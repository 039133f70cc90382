//! Routes of a crate beside the API, as they are mounted.

use axum::Router;

/// What a gateway, MCP or the dashboard brings along. The guard stands before it as before every route, and
/// takes the daemon's token out of what it lets in: nothing behind it ever sees one.
#[derive(Debug)]
pub struct Entrance {
    pub name: &'static str,
    /// Method and path of each route, as the router writes them, so that all of them can be tried.
    pub routes: &'static [(&'static str, &'static str)],
    /// Without a fallback: there is one for all.
    pub router: Router,
}
