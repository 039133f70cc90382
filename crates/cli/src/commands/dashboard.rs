//! `bethink dashboard`: opens the dashboard in a browser with a single-use login URL.

use std::process::{Command, Stdio};

use crate::app::CliApp;
use crate::failure::Done;

/// Programs that open a URL in the browser: on macOS, and on freedesktop.org desktops.
const OPENERS: [&str; 2] = ["open", "xdg-open"];

pub(crate) async fn open(app: &mut CliApp, print: bool) -> Done {
    let client = app.client().await?;
    let launch = client.launch_dashboard().await?;
    let Some(screen) = app.screen.unless_json(&launch)? else { return Ok(()) };
    if !print && opened(&launch.url) {
        return Ok(screen.note("opened the dashboard in your browser")?);
    }
    screen.line(launch.url)?;
    Ok(screen.note("open this URL within a minute; it works once")?)
}

/// Opens the URL in a browser and returns whether that worked. Other users may see the URL in the browser's arguments,
/// but it works only once and expires in a minute.
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
