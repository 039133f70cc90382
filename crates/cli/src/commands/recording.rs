//! `bethink pause`, `resume`.

use bethink_api::{PauseRequest, RecordingPause};
use jiff::Timestamp;

use super::search::span;
use crate::app::CliApp;
use crate::failure::{CliFailure, Done};

pub(crate) async fn pause(app: &mut CliApp, text: Option<&str>) -> Done {
    let seconds = text.map(seconds).transpose()?;
    let client = app.client().await?;
    let status = client.pause(&PauseRequest { seconds }).await?;
    let Some(screen) = app.screen.unless_json(&status)? else { return Ok(()) };
    if let Some(pause) = &status.pause {
        screen.line(paused(pause))?;
    }
    Ok(screen.hint("`bethink resume` ends the pause")?)
}

pub(crate) async fn resume(app: &mut CliApp) -> Done {
    let client = app.client().await?;
    let was_paused = client.health().await?.pause.is_some();
    let status = client.resume().await?;
    let Some(screen) = app.screen.unless_json(&status)? else { return Ok(()) };
    match was_paused {
        true => Ok(screen.line("bethink records and learns again")?),
        false => Ok(screen.note("bethink was not paused")?),
    }
}

/// Returns a line that says that nothing is recorded, and until when.
pub(super) fn paused(pause: &RecordingPause) -> String {
    let end = pause.until.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
    let end = end.map(|end| end.strftime(" until %Y-%m-%d %H:%M UTC").to_string());
    format!("paused{}: nothing is recorded or learned", end.unwrap_or_default())
}

fn seconds(text: &str) -> Result<u64, CliFailure> {
    let seconds = span(text).and_then(|span| u64::try_from(span.as_secs()).ok());
    seconds.filter(|seconds| *seconds > 0).ok_or_else(|| {
        CliFailure::Use(format!(
            "--for: {text:?} is not a valid length of time; give a number with a unit, such as 30min, 2h or 1d"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_has_a_positive_length() {
        for (text, expect) in [
            ("30min", Some(1_800)),
            ("2h", Some(7_200)),
            ("0h", None),
            ("-2h", None),
            ("2", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(text).ok(), expect, "{text}");
        }
    }
}
