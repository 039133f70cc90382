//! `bethink gateway`: the addresses that clients of providers are pointed to.

use super::Done;
use crate::app::App;
use crate::screen::Text;

pub(crate) async fn gateway(app: &mut App) -> Done {
    let client = app.client().await?;
    let addresses = client.gateway().await?;
    if app.screen.json {
        return Ok(app.screen.value(&addresses)?);
    }
    // Lines for a shell, so that `eval "$(bethink gateway --quiet)"` sets them.
    app.screen.line(format!("export ANTHROPIC_BASE_URL={}", addresses.anthropic))?;
    app.screen.line(format!("export OPENAI_BASE_URL={}", addresses.openai))?;
    let notes = [
        "Your client's own key goes up with each request, unless [gateway] has one for the provider.",
        "Whoever knows an address may use it: it holds a secret, made from the token of this home.",
    ];
    for note in notes {
        app.screen.note(Text::new().dim(note))?;
    }
    Ok(())
}
