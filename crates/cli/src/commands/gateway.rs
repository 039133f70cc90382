//! `bethink gateway`: the addresses that clients of providers are pointed to.

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
        "Your client's own key goes up with each request, unless [gateway] has one for the provider.",
        "Whoever knows an address may use it: it holds a secret, made from the token of this home.",
    ];
    for note in notes {
        screen.hint(note)?;
    }
    Ok(())
}
