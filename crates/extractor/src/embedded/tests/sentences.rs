//! Tests sentences that teach something, and sentences that only sound like it.

use super::*;

fn teaches(kind: MemoryKind, sentences: &[&str]) {
    let mut missed = Vec::new();
    for sentence in sentences {
        let found = learnt(sentence);
        if !matches!(&found[..], [(found, _)] if *found == kind) {
            missed.push(format!("{sentence} → {found:?}"));
        }
    }
    assert!(missed.is_empty(), "\n{}", missed.join("\n"));
}

fn teach_nothing(sentences: &[&str]) {
    let taught: Vec<_> = sentences.iter().map(|sentence| (sentence, learnt(sentence))).collect();
    let wrong: Vec<String> = taught
        .iter()
        .filter(|(_, found)| !found.is_empty())
        .map(|(sentence, found)| format!("{sentence} → {found:?}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn feedback() {
    teaches(
        MemoryKind::Feedback,
        &[
            "Always run the linter before committing.",
            "no, never force-push to shared branches",
            "Great! Please always write commit messages in imperative mood.",
            "From now on, use British spelling.",
            "please use the british spelling :)",
            "going forward ask before you install anything",
            "Don't amend commits again.",
            "please don't add dependencies without asking me",
            "only push when I say so",
            "don't commit unless I explicitly ask",
            "ask me before deleting files",
            "Whenever you change the schema, update the fixtures.",
            "next time, run the whole suite first",
            "I prefer small pull requests over big ones.",
            "I really prefer composition to inheritance",
            "I'd rather you asked before renaming things",
            "I hate it when you rewrite whole files",
            "no emojis please",
            "From now on, answer the customers in German",
            "In this project, always answer in English",
            "I prefer short functions.",
            "write commit messages in English",
            "stop adding emojis to commit messages",
            "don't use marketing language",
            "Can you always sign commits with my key?",
            "you should never edit generated files",
            "when you write tests, always cover the error path",
            "make sure to always rebase rather than merge",
            "let's make sure we use the typed ids everywhere",
            "Please ensure that all timestamps are in UTC throughout.",
            "let's avoid code duplication",
            "From now on I want tests for every fix",
            "Make sure you never call the API without a timeout.",
            "when you write a function, always document it",
            "remember to sign every commit",
            "Commit messages: always use the imperative mood",
            "Quote style: always use single quotes",
            "Never use goto.",
            "Never deploy on Fridays, go on.",
            "always validate input, it comes from users",
            "this is now the third time that the build breaks on a missing fixture",
            "that's the 4th bug around time zones",
        ],
    );
}

#[test]
fn who_the_user_is() {
    teaches(
        MemoryKind::User,
        &[
            "Please answer in German.",
            "keep your answers short",
            "I prefer short answers.",
            "I prefer concise explanations.",
            "Please always answer in German.",
            "be concise in all your answers",
            "Remember: I like detailed explanations",
            "no emojis in your answers please",
            "I'm a data scientist.",
            "btw I am a backend developer with ten years of Go",
            "I'm new to Rust.",
            "I'm not very familiar with Kubernetes",
            "my github user is otter42",
            "My name is Ada and I run the lab.",
            "call me Ada",
            "my time zone is CET",
            "I work at a hospital",
            "I've been writing Python for 15 years",
            "I have 10 years of experience with compilers",
            "I mostly write Elixir",
            "I'm colour-blind",
            "I'm learning Rust",
            "I've never used Terraform before",
            "I work on the payments team",
            "my name is Jared",
            "my job is testing firmware",
            "my manager is now Priya",
            "I work at Acme now",
        ],
    );
}

#[test]
fn the_project() {
    teaches(
        MemoryKind::Project,
        &[
            "We use pnpm in this repo.",
            "We use tabs in this repo, fix that.",
            "here we never squash merges",
            "In this project, we write tests before code.",
            "we don't use ORMs here",
            "For this project, use tabs",
            "We always release from the stable branch.",
            "our convention is that handlers end with _h",
            "The team prefers plain SQL.",
            "We decided to drop Windows support.",
            "the team agreed not to touch the billing code before the audit",
            "The reason we pin openssl is that the appliance ships 1.1.",
            "we can't use AGPL libraries because of our license policy",
            "Everything must work offline.",
            "the cli must keep working on Python 3.8",
            "The code freeze is on December 12.",
            "we ship on Friday",
            "The release is planned for the end of the month.",
            "we need to have the importer done by 2026-12-01",
            "Priya is our security lead.",
            "Tomás owns the billing service",
            "ask Jonas before you change anything in the schema",
            "staging runs on eu-west-1",
            "our production database is at Hetzner",
            "we're using structured logging everywhere",
            "we are moving from Jenkins to Buildkite",
            "We're now using pnpm instead of npm.",
            "The demo is tomorrow.",
        ],
    );
}

#[test]
fn references() {
    teaches(
        MemoryKind::Reference,
        &[
            "The API docs are at https://docs.acme.test/v2",
            "our dashboards are at https://grafana.acme.test/d/12",
            "design spec: https://wiki.acme.test/spec",
            "Bugs are tracked in Linear, in the project INGEST.",
            "the designs live in Figma",
            "create a linear issue in Project: Harbour",
            "please file bugs in the project Anchor",
            "The runbook is here: https://wiki.acme.test/runbook.",
        ],
    );
}

#[test]
fn asked_for() {
    teaches(
        MemoryKind::Project,
        &[
            "Remember that the importer runs twice a day.",
            "please remember: the vendor closes at five",
            "keep in mind for the future that the CSV has no header",
        ],
    );
    teaches(
        MemoryKind::Feedback,
        &["remember to run the formatter", "Remember: never touch generated files"],
    );
    teaches(
        MemoryKind::User,
        &["remember that I am a nurse", "Remember my cluster account is otter"],
    );
}

#[test]
fn other_languages() {
    teaches(
        MemoryKind::Feedback,
        &[
            "Ab jetzt bitte alle Commits signieren.",
            "Frag mich immer, bevor du etwas löschst",
            "Ich bevorzuge kleine Pull Requests",
            "Désormais, écris les commits en anglais",
            "Ne pousse jamais sur main sans demander",
            "Je préfère que tu écrives les tests d'abord",
            "A partir de ahora usa pnpm",
            "Nunca uses force push en main",
            "A partir de agora use pnpm",
            "D'ora in poi usa pnpm per installare",
            "Vanaf nu graag kleine commits",
            "从现在开始提交前先运行测试",
            "不要再修改生成的文件",
            "今後はpnpmを使ってください。",
            "必ずテストを書いてください。",
        ],
    );
    teaches(
        MemoryKind::User,
        &[
            "Ich bin Softwareentwickler",
            "Bitte antworte auf Deutsch.",
            "Réponds en français",
            "Responde siempre en español",
            "以后请用中文回答。",
            "Je m'appelle Ada",
            "Soy ingeniero de datos",
            "我是后端工程师",
        ],
    );
    teaches(
        MemoryKind::Project,
        &[
            "Wir nutzen hier nur pnpm",
            "Wir haben uns gegen ein ORM entschieden.",
            "Ici, on utilise pnpm",
            "Hemos decidido no usar un ORM",
            "Merk dir, dass der Import zweimal am Tag läuft",
            "Souviens-toi que la démo est vendredi",
            "Recuerda que el cliente usa IE11",
        ],
    );
}

#[test]
fn requests_of_the_moment_teach_nothing() {
    teach_nothing(&[
        "add a button to the header",
        "fix this test",
        "can you fix the failing tests / build",
        "let's do the mediums first.",
        "commit, and reply to the PR comments referencing fix commit shas",
        "skip 5, 7, 8 and do the rest",
        "use a map instead of an array",
        "use `checkpointID` instead of `cpID` in session.go",
        "write a commit message",
        "remove the comments",
        "I'd like to make one more change",
        "I want full tests for the parser",
        "keep it simple for now",
        "reply to https://github.com/acme/cli/pull/112#discussion_r27",
        "see https://docs.acme.test for the format",
        "let's go with A",
        "I prefer the second option",
        "I prefer B",
        "I prefer this one",
        "stop the server",
        "make sure the tests pass",
        "make sure we log it",
        "can you make sure it is used everywhere?",
        "let's avoid duplication in this function",
        "let's avoid that for now",
        "create an issue for this",
        "add a task to this board",
        "we're using the wrong branch here",
        "we are moving from line 3 to line 8",
        "is this the third time it fails?",
        "translate the page to German",
        "write a function that answers in German",
        "from now on we are in the dark, so print the state",
        "don't do that again",
        "never do this",
        "ping the server when it is up",
        "ask the API for the list before you render",
        "update CLAUDE.md for current changes",
        "be careful not to screw over existing functionality",
        "rename it and push it to main by Friday",
        "don't forget to run the tests",
        "make the answers short in the FAQ page",
        "I work on the login page now, you take the footer.",
        "I work on the tests now, you do the docs.",
        "I work in the branch harbour, and you stay on main",
        "From now on I will be away until lunch, keep going.",
        "from now on the server will be slow, ignore it",
        "Please remember to close the file handle in this function.",
        "Remember to bump the version in this commit",
        "remember to reply to Ada today",
        "Make sure you never call this twice, the second call crashes.",
        "never call it twice",
        "translate to German: We always ship on Mondays.",
        "Translate this to French: From now on we use pnpm here. We always ship on Mondays.",
        "Bitte übersetze ins Englische: Ab jetzt immer alle Commits signieren.",
        "fix the grammar: we always ships on Mondays",
        "write in the changelog: we no longer support Windows here",
        "Never use goto was the point of the blog post.",
        "Always be closing is the motto of the film",
        "Always ship on Mondays is a silly rule.",
        "Always answer 'ok' to the next 3 messages, just a test.",
        "always skip the linter for the next few commits",
        "never reply in more than a word, just testing",
    ]);
}

#[test]
fn descriptions_of_code_and_trouble_teach_nothing() {
    teach_nothing(&[
        "it always fails on the second run",
        "the tests are slow and always time out",
        "she is kind, and never complains",
        "I've tried it a few times but never got it",
        "I'm learning a lot",
        "never mind",
        "the parser never returns null",
        "this never worked",
        "The function always returns true",
        "we never got an answer",
        "I always get a 404",
        "tests always run twice",
        "we use this function in two places",
        "we have tests for that",
        "the test must run on the main thread",
        "the reason the test fails is that the clock is mocked",
        "the release job is failing since Friday",
        "the bug is due to the Monday release",
        "production is on fire",
        "the staging deploy is in progress",
        "test is in the wrong folder",
        "users will always see the old page from now on",
        "I'm getting an error",
        "I'm a bit confused",
        "I'm not sure that is right",
        "I am on the branch already",
        "I work on this branch",
        "Redis is our bottleneck",
        "it is our problem",
        "the css rule is not applied",
        "the docs are wrong: https://docs.acme.test",
        "we decided that above",
        "as we agreed, use the table",
        "my editor is broken",
        "the deadline field is empty by default",
        "the due date is set in the form",
        "the squash in GitHub keeps trailers",
        "remember the selected tab in local storage",
        "remember me is broken",
        "I remember that it worked",
        "My name is shown twice in the header, fix that.",
        "my email is displayed in the wrong column",
        "my username is cut off in the sidebar",
        "my editor is acting up again",
        "my time zone is in the footer twice",
        "the daemon should remember the last position",
    ]);
}

#[test]
fn questions_guesses_and_proposals_teach_nothing() {
    teach_nothing(&[
        "do we always use tabs?",
        "should we never retry?",
        "Is the deadline on Friday?",
        "what do you mean by always use tabs",
        "maybe we should always use tabs",
        "I think we always use tabs here",
        "what if we never retry",
        "let's say we use pnpm here",
        "if we always use tabs, the diff is bigger",
        "could you explain why we use pnpm here?",
        "for example, always use tabs",
        "we might ship on Friday",
        "I guess the demo is on Friday",
        "do you remember that the demo is on Friday?",
        "why do you always rewrite everything",
        "would it help to always sign commits",
        "the readme says always use pnpm",
        "the linter told me: never use var",
        "it said \"from now on use pnpm\" in the log",
    ]);
}

#[test]
fn secrets_are_nobodys_memory() {
    teach_nothing(&[
        "Remember that the password is hunter22",
        "remember: api key = abc123def",
        "always use the token sk-live-4fT9aQ2mZx81Lr5Kc0WbN7 for staging",
        "the api is at https://ada:secret@api.acme.test",
    ]);
}
