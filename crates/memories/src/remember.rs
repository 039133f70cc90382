//! Remembers a sentence: writes it as a new topic with an unused name.

use std::collections::HashSet;
use std::sync::Arc;

use bethink_api as api;
use bethink_api::MemoryAuthor;
use bethink_memdir::{Header, MemoryKind, Name, Scope, Source, header};
use bethink_memdir_fs::DirectoryFile;
use bethink_secrets::{ScannedText, scan};
use bethink_service::{Result, ServiceError, rfc3339};
use bethink_transcript::SessionId;

use crate::branches::branch_of;
use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::held_back::description_of;
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::project::MemoryProject;
use crate::read::name_of;
use crate::service::MemoryService;

/// Maximum number of names that are tried: the wanted name first, then the same name with a number.
const NAMES: usize = 100;

/// The outcome of an agent's request to remember something.
#[derive(Clone, Debug)]
pub enum RememberOutcome {
    Written(api::MemoryWritten),
    /// A proposal was made, because the memory is for the team.
    Proposed(Box<api::Proposal>),
}

/// A new topic that has no file yet.
pub(crate) struct NewTopic {
    pub(crate) named: Option<Name>,
    pub(crate) description: String,
    pub(crate) kind: Option<MemoryKind>,
    pub(crate) text: String,
    pub(crate) source: Source,
}

impl MemoryService {
    pub async fn remember(&self, request: api::Remember) -> Result<api::MemoryWritten> {
        let project = self.project(&request.project_dir).await?;
        let topic = self.topic(&request, "person").await?;
        let scope = request.scope.unwrap_or(Scope::of(topic.kind));
        let place = (scope, &**project.directory(scope));
        // Checked before the front matter is added, so that line numbers are those of the person's text.
        self.allow_secrets(place, "", &request.text, &request.allow_secret).await?;
        self.check_words(place, &request.text, MemoryAuthor::Person).await?;
        let author = Author { session: request.session_id.map(SessionId), ..Author::person() };
        self.write_new_topic(&project, scope, topic, author).await
    }

    /// Like [`Self::remember`], but for an agent, which can only propose team memories.
    pub async fn remember_for_agent(&self, request: api::Remember) -> Result<RememberOutcome> {
        self.refuse_if_unrecorded(&request.project_dir)?;
        let project = self.project(&request.project_dir).await?;
        let topic = self.topic(&request, "agent").await?;
        let scope = request.scope.unwrap_or(Scope::of(topic.kind));
        let place = (scope, &**project.directory(scope));
        self.check_words(place, &request.text, MemoryAuthor::Agent).await?;
        let author = Author::agent(request.session_id.map(SessionId));
        self.add_for_agent(&project, scope, topic, author).await
    }

    /// Writes a topic, or proposes it to the team if it is meant for the team.
    pub(crate) async fn add_for_agent(
        &self,
        project: &MemoryProject,
        scope: Scope,
        topic: NewTopic,
        author: Author,
    ) -> Result<RememberOutcome> {
        if scope != Scope::Team {
            let written = self.write_new_topic(project, scope, topic, author).await?;
            return Ok(RememberOutcome::Written(written));
        }
        let name = topic.named.unwrap_or_else(|| Name::suggest(&topic.description));
        let request = api::Propose {
            project_dir: project.root.display().to_string(),
            name: name.to_string(),
            text: topic.text,
            source: Some(topic.source),
        };
        Ok(RememberOutcome::Proposed(Box::new(self.propose_memory(request, None).await?.proposal)))
    }

    async fn topic(&self, request: &api::Remember, strategy: &str) -> Result<NewTopic> {
        if request.text.trim().is_empty() {
            return Err(ServiceError::invalid("text", "is empty: say what to remember"));
        }
        let named = request.name.as_deref().map(name_of).transpose()?;
        let said = Header::default().described(&request.text);
        let said = description_of(&request.text).unwrap_or(said);
        let description = request.description.clone().unwrap_or(said);
        let questions = checked_questions(&request.questions)?;
        let guessed = || header::guess_kind(&request.text);
        let usual = match request.scope {
            Some(Scope::Person) => MemoryKind::User,
            _ => MemoryKind::Project,
        };
        let kind = Some(request.kind.or_else(guessed).unwrap_or(usual));
        // What is known on a branch is known in its worktree, not in the project's main one.
        let (branch, commit) = match request.scope.unwrap_or(Scope::of(kind)) {
            Scope::Private => branch_of(request.project_dir.clone()).await.unwrap_or_default(),
            Scope::Team | Scope::Person => Default::default(),
        };
        let source = Source {
            session: request.session_id.map_or_else(String::new, |id| id.to_string()),
            messages: Vec::new(),
            strategy: strategy.to_owned(),
            time: rfc3339(self.cx.now()),
            branch,
            commit,
        };
        let header = Header {
            name: title_of_new(named.as_ref(), &description),
            description: Some(description.clone()),
            kind,
            modified: None,
            source: Some(source.clone()),
            questions,
            recall: None,
            faults: Vec::new(),
        };
        let text = header::write(&header, &format!("{}\n", request.text.trim()));
        Ok(NewTopic { named, description, kind, text, source })
    }

    /// Returns the topic that already says the same as a new one, if any. A request may be repeated with its name.
    async fn same_topic(
        &self,
        directory: &Arc<MemoryDirectory>,
        shown: &DirectorySnapshot,
        named: Option<&Name>,
        text: &str,
    ) -> Result<Option<api::MemoryWritten>> {
        let described = header::read(text).header.description;
        let alike = shown.topics.values().filter(|topic| {
            topic.header.description == described && named.is_none_or(|name| *name == topic.name)
        });
        for topic in alike {
            let known = directory.read(&topic.name).await?;
            let Some((_, hash)) = known.filter(|(known, _)| says_the_same(known, text)) else {
                continue;
            };
            return Ok(Some(api::MemoryWritten {
                scope: directory.scope,
                name: topic.name.to_string(),
                kind: topic.header.kind,
                path: directory.dir.join(topic.name.file()).display().to_string(),
                etag: hash.to_string(),
                outcome: api::MemoryOutcome::Same,
                warnings: Vec::new(),
            }));
        }
        Ok(None)
    }

    pub(crate) async fn write_new_topic(
        &self,
        project: &MemoryProject,
        scope: Scope,
        topic: NewTopic,
        author: Author,
    ) -> Result<api::MemoryWritten> {
        let NewTopic { named, description, text, .. } = topic;
        let write = |name: Name| MemoryWrite {
            scope,
            file: DirectoryFile::Topic(name),
            text: Some(text.clone()),
            expected: Expected::Absent,
            author: author.clone(),
        };
        let (directory, named_topic) = (project.directory(scope), named.as_ref());
        let shown = self.snapshot(directory).await?;
        if let Some(same) = self.same_topic(directory, &shown, named_topic, &text).await? {
            return Ok(same);
        }
        if let Some(name) = named {
            // If a name that was given is taken, the person chooses another one.
            let detail = format!("the topic {:?} already exists", name.as_str());
            let done = self.write_memory(project, write(name)).await;
            return done.map_err(|error| match error.versions {
                Some(_) => {
                    ServiceError { detail, ..error }.hint("edit that topic, or choose another name")
                }
                None => error,
            });
        }
        let wanted = Name::suggest(&description);
        let taken: HashSet<String> = shown.topics.keys().map(Name::folded).collect();
        let names = (1..=NAMES).map(|n| if n == 1 { wanted.clone() } else { wanted.numbered(n) });
        for name in names.filter(|name| !taken.contains(&name.folded())) {
            match self.write_memory(project, write(name)).await {
                // Someone else took the name first.
                Err(error) if error.versions.is_some() => {}
                done => return done,
            }
        }
        let detail = format!("{NAMES} topics already have names like {:?}", wanted.as_str());
        Err(ServiceError::conflict(detail).hint("choose a name for this topic"))
    }
}

/// Whether a topic has the same text as a new one, apart from its origin.
fn says_the_same(known: &str, new: &str) -> bool {
    let (known, new) = (header::read(known), header::read(new));
    known.body.trim() == new.body.trim()
        && known.header.description == new.header.description
        && new.header.questions.iter().all(|one| known.header.questions.contains(one))
}

/// Returns a title for a new topic without a given name, if its name cannot have all letters of its description.
fn title_of_new(named: Option<&Name>, description: &str) -> Option<String> {
    named.is_none().then(|| Name::title_with_letters(description)).flatten()
}

/// Returns an error if there are too many questions, or if a question is too long or seems to contain a secret.
pub(crate) fn checked_questions(given: &[String]) -> Result<Vec<String>> {
    let most = header::MOST_QUESTIONS;
    if given.len() > most {
        let detail =
            format!("the topic would have {} questions; at most {most} are allowed", given.len());
        return Err(ServiceError::invalid("questions", detail).hint("leave out some of them"));
    }
    for (question, number) in given.iter().zip(1..) {
        let chars = question.chars().count();
        if chars > header::QUESTION_CHARS {
            let most = header::QUESTION_CHARS;
            let detail =
                format!("question {number} has {chars} characters; at most {most} are allowed");
            return Err(ServiceError::invalid("questions", detail).hint("shorten the question"));
        }
        if let Some(found) = scan(&ScannedText { name: "", text: question }).first() {
            let what = found.what;
            let detail = format!("question {number} contains what looks like {what}");
            return Err(ServiceError::invalid("questions", detail)
                .hint("nothing was written; reword the question without the secret"));
        }
    }
    Ok(header::questions(given))
}
