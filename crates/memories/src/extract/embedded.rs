//! Plans an extraction by rules, from the user's own sentences.

use bethink_extractor::embedded::candidates::found_in;
use bethink_extractor::embedded::teach::taught_by;
use bethink_extractor::embedded::{Extraction, ExtractionInput, extract, parsed};
use bethink_facts::RecordedStatement;
use bethink_service::{Result, at_low_priority};
use bethink_store::PlannedWrite;
use bethink_transcript::SessionId;

use crate::project::MemoryProject;
use crate::service::MemoryService;

impl MemoryService {
    /// Finds what the statements teach. Most turns teach nothing, and no file is read then.
    pub(super) async fn learn_by_rules(
        &self,
        project: &MemoryProject,
        id: SessionId,
        said: Vec<RecordedStatement>,
    ) -> Result<Extraction> {
        let (said, is_idle) = at_low_priority(move || {
            let statements = parsed::statements(&said);
            let found = taught_by(&statements);
            let is_idle = found.taught.is_empty()
                && found.forget.is_empty()
                && found.declined.is_empty()
                && found_in(statements).is_empty();
            (said, is_idle)
        })
        .await?;
        if is_idle {
            return Ok(Extraction::default());
        }
        let known = self.known_topics(project).await?;
        let refused = self.unwanted(project, &known).await?;
        let session = id.to_string();
        let learn = move || {
            let (known, refused) = (&known, &refused);
            extract(&ExtractionInput { said: &said, known, refused, session: &session })
        };
        at_low_priority(learn).await
    }
}

pub(super) fn writes(found: &Extraction) -> Vec<PlannedWrite> {
    let writes = found.writes.iter().map(|written| PlannedWrite {
        name: written.name.to_string(),
        over: written.over.map(|hash| hash.to_string()),
        text: written.text.clone(),
        sentence: Some(written.sentence.clone()),
        seq: Some(written.seq),
    });
    writes.collect()
}
