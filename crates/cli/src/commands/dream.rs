//! `bethink dream`: a project's memory brought into order, looked at first, or taken back.

use bethink_api::{DreamRequest, DreamResult};

use super::Done;
use super::import::finished;
use crate::app::App;
use crate::args::Dream;
use crate::draw;
use crate::failure::Failure;
use crate::screen::Text;
use crate::screen::progress::Progress;

pub(crate) async fn dream(app: &mut App, how: &Dream) -> Done {
    let client = app.client().await?;
    let request = DreamRequest {
        project_dir: app.project.display().to_string(),
        dry_run: how.dry_run,
        undo: how.undo,
    };
    let job = client.dream(&request).await?;
    let progress = Progress::new(&app.screen, "dream");
    let job = finished(&client, job, &progress).await?;
    drop(progress);
    if job.state == "failed" {
        return Err(Failure::new(job.error.unwrap_or_else(|| "the dream failed".into())));
    }
    let result: DreamResult = serde_json::from_value(job.result.unwrap_or_default())
        .map_err(|error| Failure::new(format!("the dream's result is not readable: {error}")))?;
    show(app, &result)
}

fn show(app: &mut App, result: &DreamResult) -> Done {
    let look = app.screen.look;
    let screen = &mut app.screen;
    if screen.json {
        return Ok(screen.value(result)?);
    }
    if screen.quiet {
        return Ok(screen.lines(result.applied.iter().map(|file| file.as_str().into()))?);
    }
    screen.line(Text::new().dim(result.dir.clone()))?;
    screen.gap()?;
    if !result.undo {
        screen.lines(draw::dream::phases(result, look))?;
        screen.gap()?;
    }
    if !result.diff.is_empty() {
        screen.lines(draw::dream::diff(&result.diff))?;
        screen.gap()?;
    }
    screen.lines(draw::dream::dropped(result, look))?;
    Ok(screen.lines(draw::dream::outcome(result, look))?)
}
