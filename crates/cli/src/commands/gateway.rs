//! `bethink gateway`: the base URLs to set in clients of providers.

use crate::app::CliApp;
use crate::failure::Done;

pub(crate) async fn gateway(app: &mut CliApp) -> Done {
    let client = app.client().await?;
    let addresses = client.gateway().await?;
    let Some(screen) = app.screen.unless_json(&addresses)? else { return Ok(()) };
    // Lines for a shell, so that `eval "$(bethink gateway --quiet)"` sets them.
    screen.line(format!("export ANTHROPIC_BASE_URL={}", addresses.anthropic))?;
    screen.line(format!("export OPENAI_BASE_URL={}", addresses.openai))?;
    let notes = [
        "A client's own API key is passed on to the provider. For a client without a key, the one from [gateway] in the settings is used.",
        "Keep the URLs private: each contains a secret derived from the daemon's token.",
    ];
    for note in notes {
        screen.hint(note)?;
    }
    Ok(())
}
