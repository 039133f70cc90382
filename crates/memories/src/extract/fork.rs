//! Plans an extraction with a model: a fork of the session that works on a copy of the memory.

use std::sync::Arc;

use bethink_agent::{Ended, Finished, Tool};
use bethink_extractor::Meaning;
use bethink_extractor::embedded::KnownTopic;
use bethink_extractor::model::instruction::{ExtractionInstruction, MANIFEST_ROWS};
use bethink_extractor::model::spot::MemorySpot;
use bethink_extractor::model::{
    self as engine, ExtractionDesk, MemoryCopy, MemoryEvidence, MemoryTool, Table, Toolset, blocks,
};
use bethink_memdir::index::remove_all;
use bethink_memdir::{Scope, Source};
use bethink_models::{Errand, Purpose};
use bethink_service::{ModelStep, Result, rfc3339};
use bethink_sessions::{SessionPrefix, model_of};
use bethink_store::{ExtractionPlan, PlannedWrite, SessionRecord};

use super::statements::NewStatements;
use crate::project::MemoryProject;
use crate::service::MemoryService;

impl MemoryService {
    /// Returns `None` if no model was asked, or if its answer is of no use. The rules are used in that case.
    pub(super) async fn learn_by_model(
        &self,
        session: &SessionRecord,
        project: &MemoryProject,
        statements: &NewStatements,
        prefix: Option<SessionPrefix>,
    ) -> Result<Option<ExtractionPlan>> {
        let Some(model) = self.models.model_for(Purpose::Extraction, &model_of(session).name)
        else {
            return Ok(None);
        };
        if let Some(reason) = self.models.model_rests(session.id, Purpose::Extraction) {
            tracing::info!(session = %session.id, %reason, "extracting without a model");
            return Ok(None);
        }
        let desk = Arc::new(self.desk(project, statements).await?);
        let prefix = match prefix {
            Some(prefix) => prefix,
            None => {
                let handle = self.sessions.handle(session.id).await?;
                self.sessions.lock(&handle).await?.prefix()?
            }
        };
        let tools = Toolset::find(&String::from_utf8_lossy(&prefix.tools));
        let about: Vec<&str> = statements.said.iter().map(|said| &*said.text).collect();
        let manifest = desk.copy().manifest(MANIFEST_ROWS, &Meaning::of(&about.join("\n")));
        let time = rfc3339(self.cx.now());
        let day = time.split('T').next().unwrap_or_default();
        let instruction = ExtractionInstruction {
            table: desk.table(),
            tools: &tools,
            manifest: &manifest,
            new_messages: statements.said.len(),
            day,
        };
        let most = self.cx.settings().model.max_output;
        let request = prefix.request(model, &instruction.text(), most)?;
        let own = if tools.writes() { MemoryTool::all(&tools, &desk) } else { Vec::new() };
        let own: Vec<&dyn Tool> = own.iter().map(|tool| tool as &dyn Tool).collect();
        let errand = Errand {
            session: Some(session.id),
            purpose: Purpose::Extraction,
            request: &request,
            tools: &own,
            turns: engine::TURNS,
            client: None,
        };
        let Ok(finished) = self.models.ask(errand).await.ended else { return Ok(None) };
        if !tools.writes() {
            self.act_on_blocks(errand, &desk, &finished.text);
        }
        let source = Source {
            session: session.id.to_string(),
            messages: vec![range(statements)],
            strategy: engine::STRATEGY.to_owned(),
            time,
            ..Source::default()
        };
        let learned = {
            let copy = desk.copy();
            ExtractionPlan {
                strategy: engine::STRATEGY.to_owned(),
                through: statements.through,
                writes: copy.changed(&source).into_iter().map(write).collect(),
                proposals: copy.proposed(&source).into_iter().map(write).collect(),
            }
        };
        let is_good = is_good(&finished, &learned, desk.has_refused());
        self.models.judged(session.id, Purpose::Extraction, is_good);
        Ok(is_good.then_some(learned))
    }

    /// Returns a copy of the current memory, and the rules for changing it. Topics with a secret are not shown to the
    /// model, and neither are their lines in the index.
    async fn desk(
        &self,
        project: &MemoryProject,
        statements: &NewStatements,
    ) -> Result<ExtractionDesk> {
        let known = self.known_topics(project).await?;
        let refused = self.unwanted(project, &known).await?;
        let of_scope = async |scope: Scope| {
            let directory = project.directory(scope);
            let shown = self.snapshot(directory).await?;
            let hidden = self.held_back_topics(directory, &shown).await;
            let topics =
                known.iter().filter(|one| one.scope == scope && !hidden.contains(&one.name));
            let topics = topics.map(|KnownTopic { name, text, .. }| (name.clone(), text.clone()));
            Result::Ok((topics.collect::<Vec<_>>(), remove_all(&shown.index_text(), &hidden)))
        };
        let (topics, index) = of_scope(Scope::Private).await?;
        let (team_topics, team) = of_scope(Scope::Team).await?;
        let persons = self.persons_topics(project.directory(Scope::Private), &known).await?;
        let persons = persons.into_iter().map(MemorySpot::Topic).collect();
        let said = statements.said.iter().map(|said| &*said.text);
        let copy = MemoryCopy::new(topics, index, refused)
            .with_evidence(MemoryEvidence::new(said, persons));
        let dir = project.directory(Scope::Private).dir.display().to_string();
        // The project has a team if the team directory exists.
        let proposals = project.directory(Scope::Team).dir.is_dir();
        let table = Table { dir, proposals };
        Ok(ExtractionDesk::new(table, copy.with_team(team_topics, team)))
    }

    fn act_on_blocks(&self, errand: Errand<'_>, desk: &ExtractionDesk, answer: &str) {
        for ask in blocks::asks(answer, desk.table()) {
            if let Err(reason) = desk.act(ask) {
                let step = ModelStep::Denied { tool: "memory".to_owned(), reason };
                self.models.tell_model(errand, step);
            }
        }
    }
}

/// Whether the model did its task: it wrote or proposed a memory, or says that there is nothing to remember.
fn is_good(finished: &Finished, learned: &ExtractionPlan, has_refused: bool) -> bool {
    !learned.writes.is_empty()
        || !learned.proposals.is_empty()
        || (finished.ended == Ended::Done && !has_refused && says_nothing(&finished.text))
}

/// Whether an answer says that there is nothing to remember, in a form that the instruction asks for. A "no" anywhere is not
/// enough: most answers have one.
fn says_nothing(answer: &str) -> bool {
    let words = answer.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first: Vec<String> = words.take(3).map(str::to_ascii_lowercase).collect();
    first.first().is_some_and(|word| word == "nothing") || first == ["there", "is", "nothing"]
}

/// Formats the numbers of the statements: `4`, or `4-9`.
fn range(statements: &NewStatements) -> String {
    match statements.first == statements.through {
        true => statements.first.to_string(),
        false => format!("{}-{}", statements.first, statements.through),
    }
}

fn write(changed: engine::Changed) -> PlannedWrite {
    PlannedWrite {
        name: changed.name.to_string(),
        over: changed.over.map(|hash| hash.to_string()),
        text: changed.text,
        sentence: None,
        seq: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_begins_so_says_nothing() {
        for answer in ["Nothing to remember.", "**nothing**", "> There is nothing to remember."] {
            assert!(says_nothing(answer), "{answer}");
        }
        for answer in ["", "I had no time.", "None of the files exist.", "I can do nothing here."] {
            assert!(!says_nothing(answer), "{answer}");
        }
    }
}
