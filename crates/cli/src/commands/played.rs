//! What `demo` and `replay` show once a session was played: what it kept, and its figures.

use bethink_api::{Compaction, SearchHit};
use bethink_client::{Client, ClientError, SearchQuery};

use super::Done;
use crate::draw::{compaction, played};
use crate::drive::{Drive, Outcome};
use crate::screen::Screen;
use crate::screen::words::plural;

/// Hits that one from before the boundary is looked for among.
const HITS: usize = 10;
/// Lines of the summary that are shown.
const SUMMARY: usize = 12;

/// A session that was played to its end.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    pub(crate) compactions: Vec<Compaction>,
    pub(crate) found: Option<Found>,
    /// The session's notes, with all of it in them.
    pub(crate) notes: String,
}

/// What was asked of its history.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) question: String,
    /// The best hit from before the newest boundary.
    pub(crate) hit: Option<SearchHit>,
}

fn asked(question: &str) -> SearchQuery {
    SearchQuery { q: question.to_owned(), limit: Some(HITS), ..SearchQuery::default() }
}

impl Played {
    /// Brings the notes of a played session up to date, and asks it `question`, to see what it finds
    /// behind its newest boundary.
    pub(crate) async fn look(
        client: &Client,
        mut drive: Drive<'_>,
        question: Option<String>,
    ) -> Result<Self, ClientError> {
        let id = drive.session.id;
        let notes = drive.note().await?;
        let (outcome, compactions) = drive.end().await?;
        let mut played = Self { outcome, compactions, found: None, notes };
        if let Some(question) = question {
            let hits = client.search(id, &asked(&question)).await?.hits;
            let boundary = played.boundary();
            let hit = hits.into_iter().find(|hit| boundary == 0 || hit.seq < boundary);
            played.found = Some(Found { question, hit });
        }
        Ok(played)
    }

    /// First message that the prompt still shows word for word; 0 where it shows all.
    pub(crate) fn boundary(&self) -> u64 {
        self.compactions.last().map_or(0, |last| last.kept_from_seq)
    }

    pub(crate) fn show_notes(&self, screen: &mut Screen) -> Done {
        let look = screen.look;
        let lines = played::notes(&self.notes, look);
        if lines.is_empty() {
            return Ok(());
        }
        let about = "kept up to date beside the work: bethink notes show";
        screen.line(played::heading("Notes", about).fitted(look.width))?;
        screen.lines(lines)?;
        Ok(screen.gap()?)
    }

    /// The newest summary, as its first lines.
    pub(crate) fn show_summary(&self, screen: &mut Screen) -> Done {
        let Some(last) = self.compactions.last() else { return Ok(()) };
        let covers = format!("stands for messages 1 to {}", last.covers.last_seq);
        screen.line(played::heading("Summary", &covers).fitted(screen.look.width))?;
        screen.lines(compaction::summary(last, SUMMARY, screen.look))?;
        Ok(screen.gap()?)
    }

    pub(crate) fn show_found(&self, screen: &mut Screen) -> Done {
        let Some(found) = &self.found else { return Ok(()) };
        let about = "history is never edited, and all of it can be searched";
        screen.line(played::heading("Nothing is lost", about).fitted(screen.look.width))?;
        let (boundary, look) = (self.boundary(), screen.look);
        screen.lines(played::found(&found.question, found.hit.as_ref(), boundary, look))?;
        Ok(screen.gap()?)
    }

    pub(crate) fn show_figures(&self, screen: &mut Screen, window: u64) -> Done {
        let look = screen.look;
        if !self.compactions.is_empty() {
            let many = plural(self.compactions.len() as u64, "Compaction", "Compactions");
            screen.line(played::heading(&many, "tokens before and after"))?;
            screen.lines(played::compactions(&self.compactions, look))?;
            screen.gap()?;
        }
        screen.line(played::heading("Figures", ""))?;
        Ok(screen.lines(played::figures(&self.outcome, window, look))?)
    }
}
