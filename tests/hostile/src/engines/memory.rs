//! Readers of Markdown: topics, indexes, instruction files and notes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bethink_dream::{DreamDirectory, DreamTopic, TaughtTopic, diff, plan};
use bethink_encoder::word_pieces::{MOST_PIECES, WordPieces};
use bethink_extractor::embedded::{ExtractionInput, KnownTopic, extract};
use bethink_extractor::forget::TopicStep;
use bethink_extractor::model::MemoryCopy;
use bethink_extractor::model::spot::MemorySpot;
use bethink_extractor::unwanted::{By, Version};
use bethink_extractor::{Meaning, forget, unwanted};
use bethink_facts::RecordedStatement;
use bethink_instructions::{
    Disk, FileLook, FileType, InstructionPlaces, InstructionRequest, load, render,
};
use bethink_memdir::header::{self, HeaderChange};
use bethink_memdir::index::{self, LineChange, TopicLine};
use bethink_memdir::lint::{self, Directory, TopicFile};
use bethink_memdir::prompt::{self, RecalledText};
use bethink_memdir::tool::{edit, show};
use bethink_memdir::{Hash, Name, Scope, rejections, unseen};
use bethink_recall::topics::{Card, Catalog, CatalogQuery, TopicId, select};
use bethink_session_memory::document::Document;
use bethink_session_memory::{NotesBudget, NotesDraft, Template, WrittenNotes, text_edits, update};
use bethink_transcript::{Seq, UnixMicros};

use super::parts;

/// Window of the model for which notes are made, in tokens.
const WINDOW: u64 = 200_000;
const NOW: UnixMicros = UnixMicros(1_764_000_000_000_000);

fn name() -> Name {
    Name::suggest("a topic")
}

/// Minimum size of a message without its text, in bytes: `{"role":"user","content":""}`.
const MESSAGE_BYTES: usize = 28;

pub(super) fn extraction(text: &str) {
    let said = super::sessions::said(text);
    let input = ExtractionInput { said: &said, known: &[], refused: &[], session: "s" };
    let _ = extract(&input);
}

/// Each line is a message of its own, as long as all of them are no larger than the text.
pub(super) fn statements(text: &str) {
    let mut bytes = 0;
    let lines = text.lines().take_while(|line| {
        bytes += MESSAGE_BYTES + line.len();
        bytes <= text.len()
    });
    let said: Vec<RecordedStatement> =
        (1..).zip(lines).map(|(seq, line)| RecordedStatement::new(Seq(seq), line)).collect();
    let input = ExtractionInput { said: &said, known: &[], refused: &[], session: "s" };
    let _ = extract(&input);
}

/// A short lesson is compared with a long topic, whose lines a person may have removed.
pub(super) fn comparison(text: &str) {
    let [known, refused, learned, step] = parts(text);
    let said = [RecordedStatement::new(Seq(1), "Always use tabs. Never push to main.")];
    let known = KnownTopic {
        name: name(),
        hash: Hash::of(known.as_bytes()),
        text: known.to_owned(),
        scope: Scope::Private,
    };
    let refused = [Meaning::of(refused)];
    let input = ExtractionInput { said: &said, known: &[known], refused: &refused, session: "s" };
    let _ = extract(&input);
    let version = |by, text: Option<&str>| Version { by, text: text.map(str::to_owned) };
    let _ = unwanted(&[version(By::Extraction, Some(learned)), version(By::Person, None)]);
    let longer = format!("{step}\nby hand\n");
    let steps = [TopicStep { before: None, after: step.to_owned() }];
    let _ = forget(&longer, &steps);
}

pub(super) fn desk(text: &str) {
    let mut copy = MemoryCopy::new(vec![(name(), text.to_owned())], text.to_owned(), Vec::new());
    let _ = copy.grep("/m", text, &MemorySpot::Directory);
    let _ = copy.grep("/m", "a.*b.*c", &MemorySpot::Directory);
    let _ = copy.list("/m", Some(text), &MemorySpot::Directory);
    let _ = MemorySpot::parse("/m", text);
    let _ = copy.write(&MemorySpot::Topic(name()), text);
}

pub(super) fn dream(text: &str) {
    let [index, persons, own, taught] = parts(text);
    // Only a topic that a session taught may be rewritten.
    let own = format!(
        "---\nname: a\ndescription: b\nsource:\n  session: s\n  strategy: embedded\n  time: 2026-05-04T10:00:00Z\n---\n{own}"
    );
    let topic = |number: usize, text: String| DreamTopic {
        name: name().numbered(number),
        text,
        modified: NOW,
        untouched: true,
        put_back: false,
    };
    let directory = DreamDirectory {
        scope: Scope::Private,
        index: Some(index.to_owned()),
        index_put_back: false,
        topics: vec![topic(1, persons.to_owned()), topic(2, own)],
        unread: Vec::new(),
    };
    let taught = [TaughtTopic { name: name(), text: taught.to_owned() }];
    let _ = diff(&plan(&directory, &taught, NOW));
}

pub(super) fn front_matter(text: &str) {
    let closed = format!("---\n{text}\n---\nbody\n");
    for text in [text, &closed] {
        let _ = header::read(text);
        let _ = header::with(text, &[HeaderChange::Name("n"), HeaderChange::Description(text)]);
        let _ = header::guess_kind(text);
        let _ = header::read(text).header.described(text);
    }
}

pub(super) fn index(text: &str) {
    let _ = index::lines(text);
    let _ = index::shown(text);
    let _ = index::warnings(text);
}

pub(super) fn edited_index(text: &str) {
    let name = name();
    let _ = index::add(text, &name, "a", "b");
    let _ = index::remove(text, &name);
}

pub(super) fn followed_index(text: &str) {
    let name = name();
    let line = |description| TopicLine { name: &name, title: "a", description };
    let _ = index::follow(text, &[LineChange { old: line(text), new: line("b") }]);
    let _ = index::differing(text, &[line(text)]);
}

pub(super) fn rebuilt_index(text: &str) {
    let name = name();
    let _ = index::rebuild(text, &[TopicLine { name: &name, title: "a", description: "b" }]);
}

pub(super) fn rejected(text: &str) {
    let _ = rejections::add(text, "2026-11-23", text, Some(text));
}

pub(super) fn indexes(text: &str) {
    let [base, ours, theirs] = parts(text);
    let _ = index::merge(base, ours, theirs);
    let _ = rejections::merge(base, ours, theirs);
    let texts = [text; 3].map(str::to_owned);
    let _ = prompt::index(&["/m", "/m/team", "/p"].map(str::to_owned), &texts);
    let _ = prompt::index_news(&Default::default(), &texts);
}

pub(super) fn lint(text: &str) {
    let names = [name(), name().numbered(2)];
    let topics: Vec<TopicFile<'_>> = names.iter().map(|name| TopicFile { name, text }).collect();
    let directory =
        Directory { scope: Scope::Private, index: Some(text), topics: &topics, strange: &[] };
    let _ = lint::lint(&directory);
}

pub(super) fn shown(text: &str) {
    let name = name();
    let _ = prompt::guarded(text);
    let _ = prompt::guarded_line(text);
    let _ = prompt::excerpt(text);
    let _ = prompt::recalled(&RecalledText {
        pinned: false,
        scope: Scope::Private,
        name: &name,
        path: "/m/a.md",
        text,
        modified: NOW,
        now: NOW,
        versions: &[],
        unmerged: None,
    });
    let _ = unseen::find(text);
    let _ = unseen::strip(text);
    let _ = show::file("/memories/a.md", text, None);
    let _ = edit::replace("/memories/a.md", text, "a", "b");
    let _ = edit::replace("/memories/a.md", text, &format!("{text}x"), "b");
    let _ = edit::insert("/memories/a.md", text, 1, text);
    let _ = Name::suggest(text);
    let _ = Name::parse(text);
}

pub(super) fn topics(text: &str) {
    let [title, description, body, question] = parts(text);
    let mut catalog = Catalog::default();
    catalog.put(
        TopicId(1),
        &Card { name: name().as_str(), title, description, ..Card::default() },
        body,
    );
    catalog.settle();
    let query = CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
    let picks = select::select(&catalog, &query);
    let _ = select::why(&catalog, question, TopicId(1));
    let alike = [(TopicId(1), f32::NAN), (TopicId(2), 1.0)];
    let near = select::nearest(&catalog, &query, &alike);
    let _ = select::merged(vec![near, select::nearest(&catalog, &query, &[])], 5);
    let _ = (picks, select::ranked(&catalog, &query));
}

/// The rest of the encoder takes the same time for any text.
pub(super) fn word_pieces(text: &str) {
    static PIECES: LazyLock<Option<WordPieces<'static>>> = LazyLock::new(|| {
        WordPieces::read(include_str!("../../../../crates/encoder/weights/vocabulary.txt")).ok()
    });
    let pieces = PIECES.as_ref().map_or(0, |pieces| pieces.of(text).len());
    assert!((2..=MOST_PIECES).contains(&pieces), "{pieces}");
}

pub(super) fn notes(text: &str) {
    let template = Template::default();
    let budget = NotesBudget::for_window(WINDOW);
    let last = WrittenNotes::default();
    let updated = update(&template, NotesDraft::default(), &last, Some(text), &budget);
    let _ = budget.cut(&updated.text, &template, "/notes");
}

pub(super) fn edited_notes(text: &str) {
    let _ = Document::parse(text, 6);
    let _ = Template::parse(text.as_bytes());
    let _ = text_edits(text);
}

/// A project whose `CLAUDE.md` is the text, and a rule with the text as its pattern.
struct OneFile<'a> {
    path: &'a str,
    text: String,
}

impl Disk for OneFile<'_> {
    fn look(&self, path: &Path) -> io::Result<FileLook> {
        let is_above = Path::new(self.path).starts_with(path);
        let node = match path == Path::new(self.path) {
            true => FileType::File,
            false if is_above => FileType::Directory,
            false => return Err(io::ErrorKind::NotFound.into()),
        };
        let bytes = self.text.len() as u64;
        Ok(FileLook { real: path.to_path_buf(), node, bytes })
    }

    fn read(&self, _real: &Path, _most: u64) -> io::Result<Vec<u8>> {
        Ok(self.text.clone().into_bytes())
    }

    fn list(&self, _dir: &Path, _most: usize) -> io::Result<Vec<String>> {
        Ok(vec!["rule.md".to_owned()])
    }
}

pub(super) fn instructions(text: &str) {
    load_file(&OneFile { path: "/p/CLAUDE.md", text: text.to_owned() });
}

pub(super) fn rule_patterns(text: &str) {
    let text = format!("---\npaths: {text}\n---\nAlways use tabs.\n");
    load_file(&OneFile { path: "/p/.claude/rules/rule.md", text });
}

fn load_file(file: &OneFile<'_>) {
    let root = PathBuf::from("/p");
    let places = InstructionPlaces {
        managed: "/etc/none".into(),
        home: None,
        root: root.clone(),
        cwd: root,
        above: true,
    };
    let touched = [PathBuf::from("/p/src/lib.rs")];
    let approved = BTreeSet::new();
    let request = InstructionRequest { places: &places, touched: &touched, approved: &approved };
    let found = load(file, request);
    let _ = render::part(&found.chain);
}
