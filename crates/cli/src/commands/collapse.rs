//! `bethink collapses`.

use super::Done;
use crate::app::{self, App};
use crate::screen::words::{ago, count};
use crate::screen::{Align, Table, Text, Tone};

pub(crate) async fn list(app: &mut App) -> Done {
    let client = app.client().await?;
    let session = app.session(&client, None).await?;
    let spans = client.collapses(session.id).await?;
    if app.screen.json {
        return Ok(app.screen.value(&spans)?);
    }
    if spans.collapses.is_empty() {
        let none = "no span has a short text; [context] collapse = true prepares them";
        return Ok(app.screen.note(none)?);
    }
    let ids: Vec<_> = spans.collapses.iter().map(|one| one.id).collect();
    let mut table = Table::new(&[
        ("messages", Align::Left),
        ("state", Align::Left),
        ("tokens", Align::Right),
        ("in short", Align::Right),
        ("written by", Align::Left),
        ("when", Align::Left),
    ]);
    for one in &spans.collapses {
        let (tone, at) = match &one.committed_at {
            Some(at) => (Tone::Good, at),
            None => (Tone::Dim, &one.staged_at),
        };
        table.row(vec![
            format!("{}–{}", one.covers.first_seq, one.covers.last_seq).into(),
            Text::new().put(tone, one.state.clone()),
            count(one.tokens_before).into(),
            count(one.tokens).into(),
            one.strategy.clone().into(),
            ago(at, app.now).into(),
        ]);
    }
    let mut lines = table.lines(app.screen.look.width).into_iter();
    app.screen.lines(lines.next())?;
    // An id below its row: beside it, no figure would have room in 80 columns.
    for (line, id) in lines.zip(app::short_ids(&ids)) {
        app.screen.lines([line, Text::from("  ").dim(id)])?;
    }
    Ok(())
}
