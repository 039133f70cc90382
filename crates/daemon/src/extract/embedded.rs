//! A plan by rules, from the user's own sentences.

use bethink_extractor::Meaning;
use bethink_extractor::embedded::teach::taught_by;
use bethink_extractor::embedded::{self as engine, Extraction, Lookup};
use bethink_facts::Said;
use bethink_memdir::Scope;
use bethink_transcript::SessionId;

use super::known::Known;
use super::plan::Write;
use crate::clock::rfc3339;
use crate::memory::Project;
use crate::quiet::quietly;
use crate::{Daemon, Result};

impl Daemon {
    /// What the statements teach. On most turns nothing, and then no file is looked at.
    pub(super) async fn learn_by_rules(
        &self,
        project: &Project,
        id: SessionId,
        said: Vec<Said>,
    ) -> Result<Extraction> {
        let (said, is_idle) = quietly(move || {
            let found = taught_by(&said);
            let is_idle =
                found.taught.is_empty() && found.forget.is_empty() && found.declined.is_empty();
            (said, is_idle)
        })
        .await?;
        if is_idle {
            return Ok(Extraction::default());
        }
        let known = self.known_topics(project).await?;
        let refused = self.unwanted(project, &known).await?;
        let time = rfc3339(self.now());
        quietly(move || learn(&said, &known, &refused, &id.to_string(), &time)).await
    }
}

fn learn(
    said: &[Said],
    known: &[Known],
    refused: &[Meaning],
    session: &str,
    time: &str,
) -> Extraction {
    let topics = known.iter().map(|known| engine::Known {
        name: &known.name,
        hash: known.hash,
        text: &known.text,
        own: known.scope == Scope::Private,
    });
    let known: Vec<engine::Known<'_>> = topics.collect();
    engine::extract(&Lookup { said, known: &known, refused, session, time })
}

/// What is to be written, as a plan has it.
pub(super) fn writes(found: &Extraction) -> Vec<Write> {
    let writes = found.writes.iter().map(|written| Write {
        name: written.name.to_string(),
        over: written.over.map(|hash| hash.to_string()),
        text: written.text.clone(),
        sentence: Some(written.sentence.clone()),
        seq: Some(written.seq.0),
    });
    writes.collect()
}
