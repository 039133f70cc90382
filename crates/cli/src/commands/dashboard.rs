//! `bethink dashboard`: a page that is logged in by an address which works once.

use std::process::{Command, Stdio};

use crate::app::CliApp;
use crate::failure::Done;

/// What opens an address in the person's browser: macOS, then desktops that follow freedesktop.org.
const OPENERS: [&str; 2] = ["open", "xdg-open"];

pub(crate) async fn open(app: &mut CliApp, print: bool) -> Done {
    let client = app.client().await?;
    let launch = client.launch_dashboard().await?;
    let Some(screen) = app.screen.unless_json(&launch)? else { return Ok(()) };
    if !print && opened(&launch.url) {
        return Ok(screen.note("the dashboard is in your browser")?);
    }
    screen.line(launch.url)?;
    Ok(screen.note("open it within a minute; it works once")?)
}

/// Whether a browser was started. The address stands in its arguments, where other users may read it: but
/// by then it was used, or a minute is over.
fn opened(url: &str) -> bool {
    let shown =
        std::env::var_os("DISPLAY").is_some() || std::env::var_os("WAYLAND_DISPLAY").is_some();
    if !shown && !cfg!(target_os = "macos") {
        return false;
    }
    OPENERS.iter().any(|opener| {
        let quiet = || Stdio::null();
        let started =
            Command::new(opener).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
        started.is_ok_and(|status| status.success())
    })
}
