//! `bethink upgrade`: says how to update bethink, depending on how it was installed. The command contacts no server.

use bethink_install::Installation;
use serde_json::json;

use crate::app::CliApp;
use crate::failure::Done;
use crate::program_copies::keep;

pub(crate) fn upgrade(app: &mut CliApp) -> Done {
    let home = app.places.home.path();
    let program = app.program.canonicalize().unwrap_or_else(|_| app.program.clone());
    let installed = Installation::of(&program, home);
    // A program that runs from a cache has just been updated there; this updates the copies that agents start.
    let is_new = keep(&program, home)?;
    let version = env!("CARGO_PKG_VERSION");
    let told = json!({
        "version": version, "program": program, "installed_by": installed.as_str(),
        "command": installed.update(), "copied": is_new,
    });
    let Some(screen) = app.screen.unless_json(&told)? else { return Ok(()) };
    screen.line(format!("bethink {version}, installed from {}", installed.as_str()))?;
    if is_new {
        screen.note(format!("copied to {}", home.join("bin").display()))?;
    } else {
        screen.line(format!("update: {}", installed.update()))?;
    }
    Ok(screen.hint(
        "afterwards, run `bethink down` to stop the old daemon; the next command starts the new one",
    )?)
}
