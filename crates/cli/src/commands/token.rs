//! `bethink token rotate`: replaces the daemon's token.

use serde_json::json;

use crate::app::CliApp;
use crate::args::TokenCommand;
use crate::failure::Done;

pub(crate) async fn run(app: &mut CliApp, command: TokenCommand) -> Done {
    match command {
        TokenCommand::Rotate => rotate(app).await,
    }
}

async fn rotate(app: &mut CliApp) -> Done {
    app.client().await?.rotate_token().await?;
    let told = json!({ "rotated": true, "url": app.places.address() });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    screen.note("the daemon has a new token and refuses the old one")?;
    for next in [
        "hooks, `bethink mcp` and the editor extensions use the new token automatically",
        "run `bethink install AGENT --gateway` again for each agent that you installed with --gateway",
        "in other gateway clients, set the new addresses, which `bethink gateway` prints",
        "an open dashboard is logged out; run `bethink dashboard` to open it again",
    ] {
        screen.hint(next)?;
    }
    Ok(())
}
