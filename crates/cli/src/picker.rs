//! Asks the user to choose a session from a list, for `--session pick`, or to confirm an action.

use std::io::{self, IsTerminal};

use bethink_api::Session;
use bethink_client::{Client, SessionQuery};
use bethink_terminal::words::ago;
use bethink_terminal::{StyledText, Tone};

use crate::app::CliApp;
use crate::failure::{CliFailure, Done};

/// Number of sessions in the list: as many as fit on a 24-line terminal together with the question.
const CHOICES: usize = 20;

/// Shows the newest sessions of the project, or of all projects if it has none, and asks for a number.
pub(crate) async fn pick(app: &mut CliApp, client: &Client) -> Result<Session, CliFailure> {
    if !io::stdin().is_terminal() || !app.screen.look.progress {
        return Err(CliFailure::HintedUse {
            what: "could not ask for a session: this is not a terminal".into(),
            hint: "name a session by its id, or use `last`".into(),
        });
    }
    let project_dir = app.listed_dir(client).await?;
    let query = SessionQuery { project_dir, limit: Some(CHOICES), ..SessionQuery::default() };
    let mut sessions = client.sessions(&query).await?.sessions;
    for (number, session) in (1..).zip(&sessions) {
        let title = session.title.as_deref().unwrap_or("untitled");
        let line = StyledText::new()
            .put(Tone::Accent, format!("{number:>3}  "))
            .plain(title)
            .dim(format!("  {}", ago(&session.updated_at, app.now)));
        app.screen.complain(line.on_one_line().fitted(app.screen.look.width))?;
    }
    app.screen.ask(&format!("Which session? [1-{}]", sessions.len()))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim().parse::<usize>() {
        Ok(number) if (1..=sessions.len()).contains(&number) => {
            Ok(sessions.swap_remove(number - 1))
        }
        _ => Err(CliFailure::Use(format!("{:?} is not the number of a session", answer.trim()))),
    }
}

/// Fails if the user cannot be asked. `hint` says that nothing was done, and how to do it without asking.
pub(crate) fn check_can_ask(app: &CliApp, hint: impl Into<String>) -> Done {
    if io::stdin().is_terminal() && app.screen.look.progress && !app.screen.json {
        return Ok(());
    }
    let why = if app.screen.json { "`--json` was used" } else { "this is not a terminal" };
    Err(CliFailure::HintedUse {
        what: format!("could not ask for confirmation: {why}"),
        hint: hint.into(),
    })
}

/// Asks a yes-or-no question. `refused` is shown after any answer other than yes.
pub(crate) fn confirm(app: &mut CliApp, question: &str, refused: &str) -> Done {
    app.screen.ask(&format!("{question} [y/N]"))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    app.screen.complain(refused)?;
    Err(CliFailure::Printed)
}
