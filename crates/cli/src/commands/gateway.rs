//! `bethink gateway`: shows the base URLs to set in providers' clients.

use std::path::Path;

use crate::app::CliApp;
use crate::failure::Done;

pub(crate) async fn gateway(app: &mut CliApp) -> Done {
    let client = app.client().await?;
    let addresses = client.gateway().await?;
    // In the home directory, where a shell's profile runs, no project is meant.
    let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
    let is_project = app.project_given
        || app.project.parent().is_some() && Some(app.project.as_path()) != home.as_deref();
    let addresses = match is_project {
        true => addresses.for_project(&app.project_dir()),
        false => addresses,
    };
    let Some(screen) = app.screen.unless_json(&addresses)? else { return Ok(()) };
    // Lines for a shell, so that `eval "$(bethink gateway --quiet)"` sets them.
    screen.line(format!("export ANTHROPIC_BASE_URL={}", addresses.anthropic))?;
    screen.line(format!("export OPENAI_BASE_URL={}", addresses.openai))?;
    screen.line(format!("export GOOGLE_GEMINI_BASE_URL={}", addresses.gemini))?;
    if is_project {
        screen.hint("If an agent uses these URLs but does not report its working directory, its sessions are assigned to this directory's project.")?;
    }
    let notes = [
        "A client's own API key is passed on to the provider. If a client sends no key, bethink sends the one that is configured in [gateway], if any.",
        "Keep the URLs private: each contains a secret derived from the daemon's token.",
    ];
    for note in notes {
        screen.hint(note)?;
    }
    Ok(())
}
