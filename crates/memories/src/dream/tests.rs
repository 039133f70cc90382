//! Tests dreams in process: when they run, that they run alone, and what remains after an interruption.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::PathBuf;
use std::sync::Arc;

use bethink_api as api;
use bethink_config::Settings;
use bethink_dream::{DreamPlan, plan};
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::{DirectoryFile, Follow, LockOutcome, MemoryRoot};
use bethink_store::{LastDream, SessionChange};
use bethink_transcript::{SessionId, UnixMicros};
use serde_json::json;

use super::gate::{Gate, gate};
use super::lock::STALE;
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::project::MemoryProject;
use crate::service::MemoryService;
use crate::tests::home::start;

const HOUR: i64 = 3_600_000_000;
const PNPM: &str = "Use pnpm for installs in the frontend folder.";
const TOO: &str = "For installs in the frontend folder use pnpm.";

struct Home {
    _dir: tempfile::TempDir,
    memories: MemoryService,
    project: Arc<MemoryProject>,
    dir: String,
}

async fn home() -> Home {
    home_with(|_| {}).await
}

async fn home_with(change: impl FnOnce(&mut Settings)) -> Home {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(dir.path());
    change(&mut settings);
    let memories = start(settings, None).await;
    let project_dir = dir.path().join("project").display().to_string();
    let project = memories.project(&project_dir).await.unwrap();
    Home { _dir: dir, memories, project, dir: project_dir }
}

impl Home {
    /// Writes a topic as an extraction does.
    async fn learn(&self, name: &str, day: &str, said: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: {said}\ntype: feedback\nsource:\n  session: s{day}\n  messages: [3]\n  \
             strategy: embedded\n  time: {day}T10:00:00Z\n---\n\n> {said}\n"
        );
        let author =
            Author { by: api::MemoryAuthor::Extraction, session: None, note: String::new() };
        let file = DirectoryFile::Topic(Name::parse(name).unwrap());
        let expected = Expected::Absent;
        let write = MemoryWrite { scope: Scope::Private, file, text: Some(text), expected, author };
        self.memories.write_memory(&self.project, write).await.unwrap();
    }

    async fn twins(&self) {
        self.learn("one", "2026-06-01", PNPM).await;
        self.learn("two", "2026-06-08", TOO).await;
    }

    fn memory(&self) -> PathBuf {
        self.project.directory(Scope::Private).dir.clone()
    }

    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.memory().join(name)).ok()
    }

    fn root(&self) -> Arc<MemoryRoot> {
        let root = MemoryRoot::open(&self.memory(), Scope::Private, Follow::No).unwrap();
        Arc::new(root.unwrap())
    }

    async fn plan(&self) -> DreamPlan {
        let directory = self.project.directory(Scope::Private);
        let directory = self.memories.dream_directory(directory, &self.root()).await.unwrap();
        plan(&directory, &[], self.memories.cx.now())
    }

    /// Returns the job's result, or the reason why it failed.
    async fn dream(&self, dry_run: bool, undo: bool) -> Result<api::DreamResult, String> {
        let project_dir = self.dir.clone();
        let request = api::DreamRequest { project_dir, scope: None, dry_run, undo };
        let job = self.memories.dream(request).await.unwrap();
        self.done(bethink_transcript::JobId(job.id)).await
    }

    async fn done(&self, id: bethink_transcript::JobId) -> Result<api::DreamResult, String> {
        loop {
            let job = self.memories.cx.jobs().job(id).await.unwrap();
            match job.state {
                api::JobState::Done => {
                    return Ok(serde_json::from_value(job.result.unwrap()).unwrap());
                }
                api::JobState::Failed => return Err(job.error.unwrap()),
                _ => tokio::task::yield_now().await,
            }
        }
    }

    async fn session(&self, dir: &str) -> SessionId {
        let request = serde_json::from_value(json!({ "project_dir": dir })).unwrap();
        SessionId(self.memories.sessions.create_session(request, None).await.unwrap().id)
    }

    async fn replay(&self) -> SessionId {
        let id = self.session(&self.dir).await;
        let tags = Some(vec![api::REPLAY_TAG.to_owned()]);
        let change = SessionChange { tags, ..SessionChange::default() };
        self.memories.sessions.update(id, change).await.unwrap();
        id
    }

    async fn state(&self) -> LastDream {
        self.memories.last_dream(&self.project.key).await.unwrap()
    }
}

#[test]
fn the_gate_of_time() {
    let day = 24 * HOUR;
    for (last, now, expect) in [
        (None, day, Gate::Count),
        (Some(0), day, Gate::Count),
        (Some(0), day - 1, Gate::TooSoon(UnixMicros(day))),
        (Some(day), day, Gate::TooSoon(UnixMicros(2 * day))),
        // The clock was set back.
        (Some(9 * day), day, Gate::Count),
    ] {
        assert_eq!(gate(last.map(UnixMicros), 24, UnixMicros(now)), expect, "{last:?} {now}");
    }
    assert_eq!(
        gate(Some(UnixMicros(0)), u64::MAX, UnixMicros(day)),
        Gate::TooSoon(UnixMicros(i64::MAX))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_is_due_after_a_day_and_five_other_sessions() {
    let home = home().await;
    let (memories, project) = (&home.memories, &home.project);
    let own = home.session(&home.dir).await;
    for _ in 0..4 {
        home.session(&home.dir).await;
    }
    for _ in 0..9 {
        home.session("/another/project").await;
    }
    home.replay().await;
    assert!(!memories.dream_if_due(own, &home.dir).await.unwrap(), "four others, and others' own");
    home.session(&format!("{}/deeper", home.dir)).await;
    assert!(!memories.dream_if_due(own, &home.dir).await.unwrap(), "another project");
    home.session(&home.dir).await;
    let now = memories.cx.now().0;
    for (hours_ago, due) in [(23, false), (25, false)] {
        let state = LastDream { at: Some(UnixMicros(now - hours_ago * HOUR)), id: None };
        memories.put_last_dream(&project.key, state).await.unwrap();
        let others = hours_ago == 25;
        assert_eq!(
            memories.dream_if_due(own, &home.dir).await.unwrap(),
            due || others,
            "{hours_ago}"
        );
    }
    assert!(home.state().await.at.unwrap().0 >= now, "counted from now on");
    assert!(!memories.dream_if_due(own, &home.dir).await.unwrap(), "asked for once");
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_turn_asks_unless_dreams_are_off_or_it_is_a_replay() {
    for (dream, is_replay, asked) in
        [("off", false, false), ("embedded", true, false), ("embedded", false, true)]
    {
        let home = home_with(|settings| settings.memory.dream = dream.to_owned()).await;
        let id = match is_replay {
            true => home.replay().await,
            false => home.session(&home.dir).await,
        };
        let body = json!({ "messages": [
            { "role": "user", "content": "one" }, { "role": "assistant", "content": "two" },
        ] });
        home.memories.sessions.append(id, body.to_string().into(), None).await.unwrap();
        let context = serde_json::from_value(json!({})).unwrap();
        home.memories.sessions.prompt(id, context).await.unwrap();
        assert_eq!(
            bethink_service::locked(&home.memories.inner.dream_looks).contains_key(&home.dir),
            asked,
            "{dream}"
        );
        home.memories.cx.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_is_shown_made_and_taken_back() {
    let home = home().await;
    home.twins().await;
    let index = home.text("MEMORY.md").unwrap();
    let shown = home.dream(true, false).await.unwrap();
    assert!(shown.diff.contains("--- a/two.md\n+++ /dev/null\n"), "{}", shown.diff);
    assert!(shown.applied.is_empty() && home.text("two.md").is_some());
    assert_eq!(home.state().await, LastDream::default(), "a look is no dream");
    let made = home.dream(false, false).await.unwrap();
    assert_eq!((made.diff, made.steps.len()), (shown.diff, shown.steps.len()));
    assert_eq!(made.applied, ["one.md", "two.md", "MEMORY.md"]);
    let one = home.text("one.md").unwrap();
    assert!(one.contains(PNPM) && one.contains(TOO) && home.text("two.md").is_none());
    assert!(!home.text("MEMORY.md").unwrap().contains("two.md"));
    assert!(!home.memory().join(".bethink.lock").exists());
    assert!(home.dream(false, false).await.unwrap().steps.is_empty(), "nothing is left to do");
    let back = home.dream(false, true).await.unwrap();
    assert_eq!(back.left_alone.len(), 0);
    assert_eq!(home.text("MEMORY.md").unwrap(), index);
    assert!(home.text("two.md").unwrap().contains(TOO));
    assert!(!home.text("one.md").unwrap().contains(TOO));
    // A file that a person restored belongs to the person.
    assert!(home.dream(false, false).await.unwrap().applied.is_empty());
    assert!(home.dream(false, true).await.unwrap_err().contains("no dream to undo"));
    home.memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_edited_meanwhile_is_left_alone_and_nothing_is_removed() {
    let home = home().await;
    home.twins().await;
    let plan = home.plan().await;
    let edited = "A person was here.\n";
    std::fs::write(home.memory().join("one.md"), edited).unwrap();
    let dreamer =
        Author { by: api::MemoryAuthor::Dream, session: None, note: "dream 1".to_owned() };
    let applied = home
        .memories
        .apply_dream((&home.project, Scope::Private, &home.root()), &plan, &dreamer)
        .await
        .unwrap();
    let left: Vec<&str> = applied.left.iter().map(|left| left.file.as_str()).collect();
    assert_eq!(left, ["one.md", "two.md"]);
    assert_eq!(home.text("one.md").unwrap(), edited);
    assert!(home.text("two.md").unwrap().contains(TOO), "it would have moved to the other one");
    home.memories.cx.stop().await;
}

/// The daemon is killed after the first file: the merged text exists twice, and the next dream continues.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_was_killed_goes_on() {
    let home = home().await;
    home.twins().await;
    let mut half = home.plan().await;
    half.changes.truncate(1);
    let dreamer =
        Author { by: api::MemoryAuthor::Dream, session: None, note: "dream 1".to_owned() };
    home.memories
        .apply_dream((&home.project, Scope::Private, &home.root()), &half, &dreamer)
        .await
        .unwrap();
    let both = format!("{}{}", home.text("one.md").unwrap(), home.text("two.md").unwrap());
    assert!(both.contains(PNPM) && both.contains(TOO));
    home.dream(false, false).await.unwrap();
    let one = home.text("one.md").unwrap();
    assert!(one.contains(PNPM) && one.contains(TOO) && home.text("two.md").is_none());
    home.memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_daemon_at_a_time_dreams_of_a_directory() {
    let home = home().await;
    home.twins().await;
    let (root, now) = (home.root(), home.memories.cx.now());
    let stale = UnixMicros(now.0 - i64::try_from(STALE.as_micros()).unwrap() + HOUR / 2);
    let free = LockOutcome::Ours { after: None };
    assert_eq!(root.lock("another daemon", stale, STALE).unwrap(), free);
    let refused = home.dream(false, false).await.unwrap_err();
    assert!(refused.contains("another daemon is consolidating this memory"), "{refused}");
    assert!(home.text("two.md").is_some() && root.keep_lock("another daemon", stale).unwrap());
    // A dry run does not need the lock.
    assert!(home.dream(true, false).await.is_ok());
    assert!(root.keep_lock("another daemon", UnixMicros(stale.0 - HOUR)).unwrap());
    home.dream(false, false).await.unwrap();
    assert!(home.text("two.md").is_none(), "taken over");
    home.memories.cx.stop().await;
}

/// Two homes share a directory: the second daemon gets an error and does not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemons_that_share_a_directory_take_turns() {
    let shared = tempfile::tempdir().unwrap();
    let at = |settings: &mut Settings| settings.memory.root = shared.path().display().to_string();
    let (one, other) = (home_with(at).await, home_with(at).await);
    let root = {
        std::fs::create_dir_all(one.memory()).unwrap();
        one.root()
    };
    let (begun, go_on) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
    let holds = one.memories.alone_in(Arc::clone(&root), async {
        begun.notify_one();
        go_on.notified().await;
        Ok(())
    });
    let tries = async {
        begun.notified().await;
        let work = async { Ok(()) };
        let refused = other.memories.alone_in(Arc::clone(&root), work).await;
        go_on.notify_one();
        refused
    };
    let (held, refused) = tokio::join!(holds, tries);
    held.unwrap();
    assert!(refused.unwrap_err().detail.contains("another daemon"));
    other.memories.alone_in(root, async { Ok(()) }).await.unwrap();
    one.memories.cx.stop().await;
    other.memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_that_fails_counts_as_none() {
    let home = home().await;
    home.twins().await;
    let own = home.session(&home.dir).await;
    for _ in 0..5 {
        home.session(&home.dir).await;
    }
    assert_eq!(
        home.root().lock("another daemon", home.memories.cx.now(), STALE).unwrap(),
        LockOutcome::Ours { after: None }
    );
    assert!(home.memories.dream_if_due(own, &home.dir).await.unwrap());
    let rolled_back = async {
        while home.state().await.at.is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), rolled_back).await.unwrap();
    assert!(home.text("two.md").is_some());
    // The other daemon is done, so the next check enqueues a dream.
    assert!(home.root().unlock("another daemon").unwrap());
    assert!(home.memories.dream_if_due(own, &home.dir).await.unwrap());
    let dreamt = async {
        while home.text("two.md").is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), dreamt).await.unwrap();
    home.memories.cx.stop().await;
}

/// A file that the daemon wrote is its own until somebody else writes it or restores a version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_hand_makes_a_file_a_persons() {
    let home = home().await;
    home.twins().await;
    let untouched = |home: &Home| {
        let (memories, project, root) =
            (home.memories.clone(), Arc::clone(&home.project), home.root());
        async move {
            let found =
                memories.dream_directory(project.directory(Scope::Private), &root).await.unwrap();
            found.topics.iter().map(|topic| topic.untouched).collect::<Vec<_>>()
        }
    };
    assert_eq!(untouched(&home).await, [true, true]);
    let one = home.text("one.md").unwrap();
    std::fs::write(home.memory().join("one.md"), format!("{one}More.\n")).unwrap();
    assert_eq!(untouched(&home).await, [false, true], "saved by hand");
    let project = &home.project;
    let author = Author { by: api::MemoryAuthor::Extraction, session: None, note: String::new() };
    let file = DirectoryFile::Topic(Name::parse("one").unwrap());
    let (text, expected) = (Some(format!("{one}More.\nAnd more.\n")), Expected::Anything);
    let write = MemoryWrite { scope: Scope::Private, file, text, expected, author };
    home.memories.write_memory(project, write).await.unwrap();
    assert_eq!(untouched(&home).await, [false, true], "a person's words are in it");
    home.memories.restore_memory(&home.dir, Scope::Private, "two", None).await.unwrap_err();
    home.memories
        .put_memory(&home.dir, Scope::Private, "two", one, Expected::Anything)
        .await
        .unwrap();
    assert_eq!(untouched(&home).await, [false, false], "written by a person");
    home.memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_memory_is_no_dream() {
    let home = home().await;
    assert!(home.dream(false, false).await.unwrap().steps.is_empty());
    assert!(!home.memory().exists(), "nothing is made for it");
    let wrong =
        api::DreamRequest { project_dir: "here".to_owned(), ..api::DreamRequest::default() };
    assert!(home.memories.dream(wrong).await.is_err());
    let both =
        api::DreamRequest { project_dir: home.dir.clone(), scope: None, dry_run: true, undo: true };
    assert_eq!(home.memories.dream(both).await.unwrap_err().field.as_deref(), Some("dry_run"));
    std::fs::create_dir_all(home.memory()).unwrap();
    std::fs::write(home.memory().join("MEMORY.md"), [0xff, 0xfe]).unwrap();
    assert!(home.dream(false, false).await.unwrap_err().contains("not UTF-8"));
    home.memories.cx.stop().await;
}

/// A model that gives the same answer each time, or hangs.
#[derive(Debug)]
struct Scripted(Option<String>);

impl bethink_model::Model for Scripted {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn call<'a>(&'a self, request: &'a bethink_model::ModelRequest) -> bethink_model::Answer<'a> {
        use bethink_transcript::{
            Message, MessageId, MessageMeta, Seq, TokenUsage, message::MessageSource,
        };
        assert_eq!(request.tools.as_ref(), b"[]");
        let raw = json!({ "role": "assistant", "content": self.0 }).to_string();
        let (seq, created_at) = (Seq(1), UnixMicros(0));
        let meta = MessageMeta { seq, id: MessageId::new("m").unwrap(), created_at };
        Box::pin(async move {
            if self.0.is_none() {
                std::future::pending::<()>().await;
            }
            Ok(bethink_model::Reply {
                id: "msg_1".to_owned(),
                model: "scripted".to_owned(),
                content: Message::parse(meta, raw.into(), MessageSource::Client)
                    .unwrap()
                    .blocks
                    .into_vec(),
                stop: bethink_model::Stop::EndTurn,
                usage: TokenUsage { input_tokens: 100, output_tokens: 50, ..TokenUsage::default() },
                usage_doubtful: false,
            })
        })
    }

    fn count<'a>(&'a self, _: &'a bethink_model::ModelRequest) -> bethink_model::Counted<'a> {
        Box::pin(async { Ok(None) })
    }
}

/// Consolidates two topics that no rule merges, with a model's answer to them.
async fn dreamt_by(answer: Option<&str>) -> (Home, api::DreamResult) {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(dir.path());
    settings.model.provider = "anthropic".to_owned();
    settings.model.name = "scripted".to_owned();
    settings.model.deadline_ms = 500;
    settings.memory.dream = "model".to_owned();
    let model = Arc::new(Scripted(answer.map(str::to_owned)));
    let memories = start(settings, Some(model)).await;
    let project_dir = dir.path().join("project").display().to_string();
    let project = memories.project(&project_dir).await.unwrap();
    let home = Home { _dir: dir, memories, project, dir: project_dir };
    home.learn("berlin", "2026-06-01", "Deploys go through Ann in Berlin.").await;
    home.learn("friday", "2026-06-02", "Never deploy to production on a Friday.").await;
    let result = home.dream(false, false).await.unwrap();
    (home, result)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_merges_what_belongs_together() {
    let answer = "<memory file=\"berlin.md\">\n---\nname: deploys\ndescription: How deploys go\ntype: feedback\n---\n\n\
                  > Deploys go through Ann in Berlin.\n\n> Never deploy to production on a Friday.\n</memory>\n\
                  <memory file=\"friday.md\">\n---\nname: friday\ndescription: moved\ntype: feedback\n---\n\nMerged into \
                  berlin.\n</memory>\n";
    let (home, result) = dreamt_by(Some(answer)).await;
    assert_eq!(
        (result.strategy, result.refused.len()),
        (api::Strategy::Model, 0),
        "{:?}",
        result.refused
    );
    assert_eq!(home.text("friday.md"), None);
    let berlin = home.text("berlin.md").unwrap();
    assert!(berlin.contains("on a Friday") && berlin.contains("session: s2026-06-01"), "{berlin}");
    home.memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_would_lose_stays() {
    let answer = "<memory file=\"friday.md\">\n---\nname: friday\ndescription: deploys\ntype: feedback\n---\n\nDeploy \
                  when you like.\n</memory>\n";
    let (home, result) = dreamt_by(Some(answer)).await;
    assert_eq!(result.refused.len(), 1);
    assert!(home.text("friday.md").unwrap().contains("Never deploy"));
    home.memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_hangs_leaves_the_embedded_dream() {
    let (home, result) = dreamt_by(None).await;
    assert_eq!(result.strategy, api::Strategy::Embedded);
    assert!(home.text("friday.md").is_some());
    home.memories.cx.stop().await;
}
