//! Consolidates with a model, which sees a copy of the memory and answers with files. Edits that lose information are
//! refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_api::Strategy;
use bethink_dream::model::{DreamQuestion, EditedCopy, INSTRUCTION, copy, question, rewritten};
use bethink_dream::{DreamDirectory, DreamPlan};
use bethink_extractor::model::spot::MemorySpot;
use bethink_extractor::model::table::{Allowed, Table};
use bethink_extractor::model::{MemoryCopy, blocks};
use bethink_memdir::{DirectoryFile, Name, Source};
use bethink_models::{Errand, Purpose};
use bethink_service::{ModelStep, at_low_priority, rfc3339};
use bethink_transcript::SessionId;

use crate::service::MemoryService;
use crate::standalone::standalone_request;

/// The directory's name in the model's answers. This directory does not exist on disk.
const DIR: &str = "/memory";
pub(super) const STRATEGY: Strategy = Strategy::Model;

/// A plan with a model's edits, and the reasons why other edits were refused.
pub(super) struct ModelDream {
    pub(super) plan: DreamPlan,
    pub(super) refused: Vec<String>,
}

impl MemoryService {
    /// Returns `None` if no model was asked or the model did not answer. The embedded plan is used in that case.
    pub(super) async fn dream_by_model(
        &self,
        directory: &Arc<DreamDirectory>,
        plan: &DreamPlan,
        session: Option<SessionId>,
    ) -> Option<ModelDream> {
        let model = self.models.model_for(Purpose::Dream, "")?;
        if let Some(reason) = self.models.model_rests(session, Purpose::Dream) {
            tracing::info!(%reason, "consolidating without a model");
            return None;
        }
        let copy = copy(directory, plan);
        let own = |file: &DirectoryFile| is_own(directory, file);
        let day = rfc3339(self.cx.now());
        let asked = question(&copy, own, day.get(..10).unwrap_or_default());
        if asked.shown.len() < 2 {
            // A single file needs no more than the rules have done.
            return None;
        }
        let most = self.cx.settings().model.max_output;
        let request = standalone_request(model, INSTRUCTION, &asked.text, most)?;
        let purpose = Purpose::Dream;
        let errand =
            Errand { session, purpose, request: &request, tools: &[], turns: 1, client: None };
        let finished = self.models.ask(errand).await.ended.ok()?;
        let (files, mut refused) = written(&copy, &asked, &finished.text);
        let source = Source {
            session: session.map(|id| id.0.to_string()).unwrap_or_default(),
            messages: Vec::new(),
            strategy: STRATEGY.to_string(),
            time: rfc3339(self.cx.now()),
            ..Source::default()
        };
        let wrote = !files.is_empty();
        let (texts, now) = (Arc::clone(directory), self.cx.now());
        let edited = EditedCopy { files, source };
        let judged = at_low_priority(move || rewritten(&texts, &[], now, &edited)).await;
        let rewriting = judged.ok()?;
        // An answer that changes nothing is a success too.
        self.models.judged(session, purpose, !wrote || rewriting.taken > 0);
        refused.extend(rewriting.refused.iter().map(ToString::to_string));
        for reason in &refused {
            self.models.tell_model(errand, ModelStep::Refused { message: reason.clone() });
        }
        Some(ModelDream { plan: rewriting.plan, refused })
    }
}

fn is_own(directory: &DreamDirectory, file: &DirectoryFile) -> bool {
    let DirectoryFile::Topic(name) = file else { return false };
    // A topic that exists only in the plan is the daemon's.
    directory.topics.iter().find(|topic| topic.name == *name).is_none_or(|topic| topic.untouched)
}

/// Reads the files in an answer, and checks them by the rules for all memories that a model writes: form, size, no
/// secrets, no invisible characters. Also returns why some were refused.
fn written(
    copy: &BTreeMap<DirectoryFile, String>,
    asked: &DreamQuestion,
    answer: &str,
) -> (BTreeMap<DirectoryFile, String>, Vec<String>) {
    let topic = |(file, text): (&DirectoryFile, &String)| match file {
        DirectoryFile::Topic(name) => Some((name.clone(), text.clone())),
        DirectoryFile::Index | DirectoryFile::Rejections => None,
    };
    let table = Table { dir: DIR.to_owned(), proposals: false };
    let mut desk =
        MemoryCopy::new(copy.iter().filter_map(topic).collect(), String::new(), Vec::new());
    let (mut names, mut refused): (Vec<Name>, Vec<String>) = (Vec::new(), Vec::new());
    for ask in blocks::asks(answer, &table) {
        let (spot, text) = match table.judge(ask) {
            Ok(Allowed::Write { spot, text }) => (spot, text),
            Ok(_) => continue,
            Err(reason) => {
                refused.push(reason);
                continue;
            }
        };
        let MemorySpot::Topic(name) = &spot else { continue };
        let file = DirectoryFile::Topic(name.clone());
        if copy.contains_key(&file) && !asked.shown.contains(&file) {
            refused.push(format!("{file}: was not shown to the model, so it is not overwritten"));
            continue;
        }
        match desk.write(&spot, &text) {
            Ok(_) => names.push(name.clone()),
            Err(error) => refused.push(format!("{file}: {error}")),
        }
    }
    let text = |name: Name| {
        let text = desk.read(&MemorySpot::Topic(name.clone())).ok()?.to_owned();
        Some((DirectoryFile::Topic(name), text))
    };
    (names.into_iter().filter_map(text).collect(), refused)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    const TOPIC: &str = "---\nname: a\ndescription: a thing\ntype: project\n---\n\nA thing.\n";

    fn check(answer: &str, files: &[&str], refused: &str) {
        let file = |name: &str| DirectoryFile::Topic(Name::parse(name).unwrap());
        let copy = BTreeMap::from([
            (file("a"), TOPIC.to_owned()),
            (file("hidden"), TOPIC.to_owned()),
            (DirectoryFile::Index, "- [a](a.md)\n".to_owned()),
        ]);
        let asked = DreamQuestion { text: String::new(), shown: vec![file("a")] };
        let (written, reasons) = written(&copy, &asked, answer);
        assert_eq!(written.keys().map(DirectoryFile::path).collect::<Vec<_>>(), files, "{answer}");
        assert_eq!(reasons.is_empty(), refused.is_empty(), "{reasons:?}");
        assert!(
            reasons.iter().any(|reason| reason.contains(refused)) || refused.is_empty(),
            "{reasons:?}"
        );
    }

    #[test]
    fn an_answer_writes_topics_and_nothing_else() {
        let block = |file: &str, text: &str| format!("<memory file=\"{file}\">\n{text}</memory>\n");
        let other = TOPIC.replace("A thing.", "A thing, and another.");
        check("Nothing is to be done.", &[], "");
        check(&block("a.md", &other), &["a.md"], "");
        check(&format!("{}{}", block("a.md", &other), block("b.md", TOPIC)), &["a.md", "b.md"], "");
        check(&block("hidden.md", &other), &[], "was not shown");
        check(&block("MEMORY.md", &other), &[], "the index");
        check(&block("team/a.md", &other), &[], "team");
        check(&block("../a.md", &other), &[], "..");
        check(&block("/etc/passwd", &other), &[], "only full paths of files in");
        check(&block("a.md", "no front matter"), &[], "front matter");
        check(&block("a.md", &format!("{TOPIC}{}", "w ".repeat(20_000))), &[], "more than");
        check(
            &block("a.md", &format!("{TOPIC}ghp_{}", "a1B2".repeat(9))),
            &[],
            "contains a secret",
        );
        check(&block("a.md", &format!("{TOPIC}\u{202e}x")), &[], "invisible");
    }
}
