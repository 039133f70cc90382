//! Decides which of a model's edits are accepted.

use std::collections::{BTreeMap, BTreeSet};

use bethink_memdir::header::{self, HeaderChange};
use bethink_memdir::{DirectoryFile, Name, Scope, Source};

use crate::bench::{DreamBench, TopicState, quoted, with_header};
use crate::consolidate::own_sentences;
use crate::limits::{MERGED_WORDS_PERCENT, MODEL_ADDS_BYTES, MODEL_REWORDS, MODEL_REWORDS_PERCENT};
use crate::text::sentences;
use bethink_statement::{content, denies, names, normal, unmarked};

/// Text that a model writes into a topic to have it removed.
const MERGED_INTO: &str = "Merged into ";

#[derive(Clone, Debug, Default)]
pub struct EditedCopy {
    /// New and changed files, in full.
    pub files: BTreeMap<DirectoryFile, String>,
    /// The source to add to new files.
    pub source: Source,
}

pub(super) enum TopicEdit {
    Write { name: Name, text: String },
    Merge { name: Name, into: Name },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct RefusedEdit {
    pub file: DirectoryFile,
    pub why: String,
}

/// Judges each edit, then all of them together.
pub(super) fn judge(bench: &DreamBench, edited: &EditedCopy) -> (Vec<TopicEdit>, Vec<RefusedEdit>) {
    let (mut edits, mut refused) = (Vec::new(), Vec::new());
    let after = Pool::of(bench, edited);
    for (file, text) in &edited.files {
        // The index is updated from the topics, so the model's version is ignored.
        let DirectoryFile::Topic(name) = file else { continue };
        match one(bench, edited, &after, name, text) {
            Ok(Some(edit)) => edits.push(edit),
            Ok(None) => {}
            Err(why) => refused.push(RefusedEdit { file: file.clone(), why }),
        }
    }
    settle(bench, &mut edits, &mut refused);
    if let Some(why) = too_much(bench, &edits) {
        let all = edits.drain(..).map(|edit| edit.refused(&why));
        refused.extend(all);
    }
    (edits, refused)
}

impl TopicEdit {
    fn name(&self) -> &Name {
        match self {
            TopicEdit::Write { name, .. } | TopicEdit::Merge { name, .. } => name,
        }
    }

    fn refused(&self, why: &str) -> RefusedEdit {
        RefusedEdit { file: DirectoryFile::Topic(self.name().clone()), why: why.to_owned() }
    }
}

/// Judges one edit. Returns `None` if it changes nothing.
fn one(
    bench: &DreamBench,
    edited: &EditedCopy,
    after: &Pool,
    name: &Name,
    text: &str,
) -> Result<Option<TopicEdit>, String> {
    let folder = name.as_str().split('/').next().unwrap_or_default();
    if bench.scope == Scope::Private && folder.eq_ignore_ascii_case(bethink_memdir::name::TEAM) {
        return Err(
            "belongs to the team's memory; a consolidation of the private memory must not change it"
                .to_owned(),
        );
    }
    if bench.unread.contains(name) {
        return Err("exists but cannot be read, so it is not overwritten".to_owned());
    }
    let Some(page) = bench.pages().get(name) else { return Ok(Some(fresh(edited, name, text)?)) };
    if page.text == text {
        return Ok(None);
    }
    if page.put_back {
        return Err("was restored by a person, so it must not be changed".to_owned());
    }
    if let Some(into) = merged_into(text) {
        return merged(bench, after, page, name, into).map(Some);
    }
    if header::read(text).body.trim().is_empty() {
        return Err("would be emptied; a topic may only be removed by merging it into another one"
            .to_owned());
    }
    if let Some(sentence) = lost(page, |sentence| after.holds(sentence, page.is_own())).first() {
        return Err(format!("loses {:?}", quoted(sentence)));
    }
    let text = header::with_recall(with_source(text, page, edited), Some(&page.text));
    Ok(Some(TopicEdit::Write { name: name.clone(), text }))
}

fn fresh(edited: &EditedCopy, name: &Name, text: &str) -> Result<TopicEdit, String> {
    if text.len() > MODEL_ADDS_BYTES {
        return Err(format!("is {} bytes; at most {MODEL_ADDS_BYTES} are allowed", text.len()));
    }
    if header::read(text).body.trim().is_empty() {
        return Err("would create an empty topic".to_owned());
    }
    let text = header::with(text, &[HeaderChange::Source(&edited.source)])
        .map_err(|error| error.to_string())?;
    Ok(TopicEdit::Write { name: name.clone(), text: header::with_recall(text, None) })
}

/// Restores the source in the header, in case the model changed it.
fn with_source(text: &str, page: &TopicState, edited: &EditedCopy) -> String {
    let source = page.header.source.as_ref();
    let kept = source.filter(|_| header::read(text).header.source.as_ref() != source);
    let by_model = source.is_none() && page.is_own();
    match kept.or(by_model.then_some(&edited.source)) {
        Some(source) => with_header(text.to_owned(), HeaderChange::Source(source)),
        None => text.to_owned(),
    }
}

/// Parses `Merged into fog`, `Merged into [[fog]]` or `Merged into fog.md.`
fn merged_into(text: &str) -> Option<Name> {
    Name::parse(target(header::read(text).body)?).ok()
}

fn target(body: &str) -> Option<&str> {
    let target = body.trim().strip_prefix(MERGED_INTO)?;
    (!target.contains('\n'))
        .then(|| target.trim_end_matches('.').trim_matches(['[', ']', '`', '"', ' ']))
}

fn merged(
    bench: &DreamBench,
    after: &Pool,
    page: &TopicState,
    name: &Name,
    into: Name,
) -> Result<TopicEdit, String> {
    if into == *name {
        return Err("cannot be merged into itself".to_owned());
    }
    let Some(target) = after.topics.get(&into) else {
        return Err(format!("would be merged into {}, which does not exist", into.file()));
    };
    let recall = bench.pages().get(&into).and_then(|target| target.header.recall);
    if page.header.recall.is_some_and(|own| Some(own) != recall) {
        return Err("has a `recall` key, which a merge would lose".to_owned());
    }
    if crate::links::linked(bench).contains(name) {
        return Err("is linked from another topic, so it must not be removed".to_owned());
    }
    match lost(page, |sentence| target.holds(sentence, page.is_own())).first() {
        Some(sentence) => Err(format!(
            "would be merged into {}, which does not contain {:?}",
            into.file(),
            quoted(sentence)
        )),
        None => Ok(TopicEdit::Merge { name: name.clone(), into }),
    }
}

/// Returns the sentences of a topic for which `holds` returns false. Sentences that the daemon added do not count.
fn lost(page: &TopicState, holds: impl Fn(&str) -> bool) -> Vec<String> {
    let own = own_sentences(page.body()).into_iter();
    let texts = own.map(|sentence| &page.body()[sentence.range]);
    texts.filter(|text| !holds(text)).map(str::to_owned).collect()
}

/// All topics after the edits.
struct Pool {
    topics: BTreeMap<Name, SaidSentences>,
}

struct SaidSentences {
    unmarked: String,
    normal: String,
    sentences: Vec<Sense>,
}

/// The parts of a sentence that a rewording must preserve.
struct Sense {
    words: BTreeSet<String>,
    names: BTreeSet<String>,
    denies: bool,
}

impl Sense {
    fn of(text: &str) -> Self {
        Self { words: content(text), names: names(text), denies: denies(text) }
    }

    fn holds(&self, other: &Sense) -> bool {
        let common = other.words.intersection(&self.words).count();
        let most = common * 100 >= other.words.len() * MERGED_WORDS_PERCENT;
        most && self.denies == other.denies && other.names.is_subset(&self.names)
    }
}

impl Pool {
    fn of(bench: &DreamBench, edited: &EditedCopy) -> Self {
        let mut texts: BTreeMap<&Name, &str> =
            bench.pages().iter().map(|(name, page)| (name, page.text.as_str())).collect();
        for (file, text) in &edited.files {
            if let DirectoryFile::Topic(name) = file {
                texts.insert(name, text);
            }
        }
        let topics = texts.into_iter().filter(|(_, text)| merged_into(text).is_none());
        Self {
            topics: topics.map(|(name, text)| (name.clone(), SaidSentences::of(text))).collect(),
        }
    }

    fn holds(&self, sentence: &str, in_other_words: bool) -> bool {
        self.topics.values().any(|said| said.holds(sentence, in_other_words))
    }
}

impl SaidSentences {
    fn of(text: &str) -> Self {
        let body = header::read(text).body;
        let sentences = sentences(body).into_iter().map(|sentence| &body[sentence.range]);
        let whole = body.replace(crate::consolidate::STRUCK, "");
        Self {
            unmarked: unmarked(&whole),
            normal: normal(&whole),
            sentences: sentences.map(Sense::of).collect(),
        }
    }

    /// Returns whether the topic has the sentence: word for word, or `in_other_words` with the same names and numbers.
    fn holds(&self, sentence: &str, in_other_words: bool) -> bool {
        let sentence = sentence.replace(crate::consolidate::STRUCK, "");
        if !in_other_words {
            return self.unmarked.contains(&unmarked(&sentence));
        }
        let sense = Sense::of(&sentence);
        self.normal.contains(&normal(&sentence))
            || self.sentences.iter().any(|theirs| theirs.holds(&sense))
    }
}

/// Checks the accepted edits again without the refused ones, because an accepted edit may depend on a refused one: a
/// merge depends on the edit of its target, and a moved sentence on the edit that added it elsewhere.
fn settle(bench: &DreamBench, edits: &mut Vec<TopicEdit>, refused: &mut Vec<RefusedEdit>) {
    if refused.is_empty() {
        return;
    }
    let after = Pool::of(bench, &as_edited(edits));
    let before = edits.len();
    edits.retain(|edit| {
        let Some(page) = bench.pages().get(edit.name()) else { return true };
        let holds = |sentence: &str| match edit {
            TopicEdit::Merge { into, .. } => {
                after.topics.get(into).is_some_and(|target| target.holds(sentence, page.is_own()))
            }
            TopicEdit::Write { .. } => after.holds(sentence, page.is_own()),
        };
        let whole = lost(page, holds).is_empty();
        if !whole {
            refused.push(edit.refused("depends on another edit that was refused"));
        }
        whole
    });
    if edits.len() < before {
        settle(bench, edits, refused);
    }
}

fn as_edited(edits: &[TopicEdit]) -> EditedCopy {
    let files = edits.iter().map(|edit| match edit {
        TopicEdit::Write { name, text } => (DirectoryFile::Topic(name.clone()), text.clone()),
        TopicEdit::Merge { name, into } => {
            (DirectoryFile::Topic(name.clone()), format!("{MERGED_INTO}{into}"))
        }
    });
    EditedCopy { files: files.collect(), ..EditedCopy::default() }
}

/// Returns the limit that all edits together exceed, if any: reworded sentences, or added bytes.
fn too_much(bench: &DreamBench, edits: &[TopicEdit]) -> Option<String> {
    let written: usize = edits.iter().map(|edit| growth(bench, edit)).sum();
    if written > MODEL_ADDS_BYTES {
        return Some(format!(
            "together the edits add {written} bytes; at most {MODEL_ADDS_BYTES} are allowed"
        ));
    }
    let after = Pool::of(bench, &as_edited(edits));
    let (mut all, mut gone) = (0, 0);
    for page in bench.pages().values() {
        all += sentences(page.body()).len();
        gone += lost(page, |sentence| after.holds(sentence, false)).len();
    }
    (gone > MODEL_REWORDS && gone * 100 > all * MODEL_REWORDS_PERCENT).then(|| {
        format!("together the edits reword {gone} of {all} sentences; at most {MODEL_REWORDS_PERCENT}% are allowed")
    })
}

fn growth(bench: &DreamBench, edit: &TopicEdit) -> usize {
    match edit {
        TopicEdit::Write { name, text } => {
            text.len().saturating_sub(bench.pages().get(name).map_or(0, |page| page.text.len()))
        }
        TopicEdit::Merge { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_one_name() {
        assert_eq!(target("\nMerged into [[fog]].\n"), Some("fog"));
        assert_eq!(target("Merged into plans/fog.md"), Some("plans/fog.md"));
        assert_eq!(target("Merged into fog\nand more"), None);
        assert_eq!(target("It was merged into fog"), None);
    }
}
