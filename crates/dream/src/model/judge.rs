//! Which of a model's edits may stand.

use std::collections::{BTreeMap, BTreeSet};

use bethink_memdir::{Name, Scope, header};

use super::{Edit, Edited, MERGED_INTO};
use crate::bench::{Bench, Page, quoted};
use crate::consolidate::meant;
use crate::limits::{MERGED_WORDS_PERCENT, MODEL_ADDS_BYTES, MODEL_REWORDS, MODEL_REWORDS_PERCENT};
use crate::plan::File;
use crate::text::sentences;
use crate::words::{content, denies, names, normal};

/// An edit that was left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct Refused {
    pub file: File,
    pub why: String,
}

/// Each edit by itself, then all of them together.
pub(super) fn judge(bench: &Bench, edited: &Edited) -> (Vec<Edit>, Vec<Refused>) {
    let (mut edits, mut refused) = (Vec::new(), Vec::new());
    let after = Pool::of(bench, edited);
    for (file, text) in &edited.files {
        // The index is brought up to date from the topics, whoever wrote them.
        let File::Topic(name) = file else { continue };
        match one(bench, edited, &after, name, text) {
            Ok(Some(edit)) => edits.push(edit),
            Ok(None) => {}
            Err(why) => refused.push(Refused { file: file.clone(), why }),
        }
    }
    settle(bench, &mut edits, &mut refused);
    match too_much(bench, &edits) {
        Some(why) => {
            refused.extend(
                edits
                    .drain(..)
                    .map(|edit| Refused { file: File::Topic(of(&edit).clone()), why: why.clone() }),
            );
            (edits, refused)
        }
        None => (edits, refused),
    }
}

fn of(edit: &Edit) -> &Name {
    match edit {
        Edit::Write { name, .. } | Edit::Merge { name, .. } => name,
    }
}

/// `None`: nothing was changed.
fn one(
    bench: &Bench,
    edited: &Edited,
    after: &Pool,
    name: &Name,
    text: &str,
) -> Result<Option<Edit>, String> {
    let folder = name.as_str().split('/').next().unwrap_or_default();
    if bench.scope == Scope::Private && folder.eq_ignore_ascii_case(bethink_memdir::name::TEAM) {
        return Err("is the team's; a private dream does not reach it".to_owned());
    }
    if bench.unread.contains(name) {
        return Err("is there and can't be read, so it is not written over".to_owned());
    }
    let Some(page) = bench.pages().get(name) else { return Ok(Some(fresh(edited, name, text)?)) };
    if page.text == text {
        return Ok(None);
    }
    if page.is_put_back() {
        return Err("was put back by a person, and stays".to_owned());
    }
    if let Some(into) = merged_into(text) {
        return merged(bench, after, page, name, into).map(Some);
    }
    if header::read(text).body.trim().is_empty() {
        return Err(
            "would be emptied; a topic goes only by being merged into another one".to_owned()
        );
    }
    if let Some(sentence) = lost(page, |sentence| after.holds(sentence, page.is_own())).first() {
        return Err(format!("loses {:?}", quoted(sentence)));
    }
    Ok(Some(Edit::Write { name: name.clone(), text: with_source(text, page, edited) }))
}

fn fresh(edited: &Edited, name: &Name, text: &str) -> Result<Edit, String> {
    if text.len() > MODEL_ADDS_BYTES {
        return Err(format!("has {} bytes, {MODEL_ADDS_BYTES} are allowed", text.len()));
    }
    if header::read(text).body.trim().is_empty() {
        return Err("would be new and empty".to_owned());
    }
    let text = header::with(text, &[header::Change::Source(&edited.source)])
        .map_err(|error| error.to_string())?;
    Ok(Edit::Write { name: name.clone(), text })
}

/// Where it was learnt stays, whatever a model makes of the header.
fn with_source(text: &str, page: &Page, edited: &Edited) -> String {
    let source = page.header.source.as_ref();
    let kept = source.filter(|_| header::read(text).header.source.as_ref() != source);
    let by_model = source.is_none() && page.is_own();
    match kept.or(by_model.then_some(&edited.source)) {
        Some(source) => header::with(text, &[header::Change::Source(source)])
            .unwrap_or_else(|_| text.to_owned()),
        None => text.to_owned(),
    }
}

/// `Merged into fog`, `Merged into [[fog]]`, `Merged into fog.md.`
fn merged_into(text: &str) -> Option<Name> {
    Name::parse(super::instruction::target(header::read(text).body)?).ok()
}

fn merged(
    bench: &Bench,
    after: &Pool,
    page: &Page,
    name: &Name,
    into: Name,
) -> Result<Edit, String> {
    if into == *name {
        return Err("can't be merged into itself".to_owned());
    }
    let Some(target) = after.topics.get(&into) else {
        return Err(format!("would be merged into {}, which is not there", into.file()));
    };
    if crate::links::linked(bench).contains(name) {
        return Err("is linked by another topic, and stays".to_owned());
    }
    match lost(page, |sentence| target.holds(sentence, page.is_own())).first() {
        Some(sentence) => Err(format!("{} does not hold {:?}", into.file(), quoted(sentence))),
        None => Ok(Edit::Merge { name: name.clone(), into }),
    }
}

/// Sentences of a page that `holds` finds nowhere. What the daemon writes around them may go.
fn lost(page: &Page, holds: impl Fn(&str) -> bool) -> Vec<String> {
    meant(page.body()).into_iter().filter(|text| !holds(text)).map(str::to_owned).collect()
}

/// All topics as the edits would leave them.
struct Pool {
    topics: BTreeMap<Name, Said>,
}

/// What one topic says after the edits.
struct Said {
    normal: String,
    sentences: Vec<Sense>,
}

/// What of a sentence must be there in another wording of it.
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
    fn of(bench: &Bench, edited: &Edited) -> Self {
        let mut texts: BTreeMap<&Name, &str> =
            bench.pages().iter().map(|(name, page)| (name, page.text.as_str())).collect();
        for (file, text) in &edited.files {
            if let File::Topic(name) = file {
                texts.insert(name, text);
            }
        }
        let topics = texts.into_iter().filter(|(_, text)| merged_into(text).is_none());
        Self { topics: topics.map(|(name, text)| (name.clone(), Said::of(text))).collect() }
    }

    fn holds(&self, sentence: &str, in_other_words: bool) -> bool {
        self.topics.values().any(|said| said.holds(sentence, in_other_words))
    }
}

impl Said {
    fn of(text: &str) -> Self {
        let body = header::read(text).body;
        let sentences = sentences(body).into_iter().map(|sentence| &body[sentence.range]);
        Self {
            normal: normal(&body.replace(crate::consolidate::STRUCK, "")),
            sentences: sentences.map(Sense::of).collect(),
        }
    }

    /// A person's sentence stands word for word; ours in other words, with every name and number.
    fn holds(&self, sentence: &str, in_other_words: bool) -> bool {
        let exact = normal(&sentence.replace(crate::consolidate::STRUCK, ""));
        if self.normal.contains(&exact) {
            return true;
        }
        let sense = Sense::of(sentence);
        in_other_words && self.sentences.iter().any(|theirs| theirs.holds(&sense))
    }
}

/// What was judged as if all edits were made must hold with those that are left: a merge needs its target as
/// edited, and a sentence that moved needs the place that it moved to.
fn settle(bench: &Bench, edits: &mut Vec<Edit>, refused: &mut Vec<Refused>) {
    if refused.is_empty() {
        return;
    }
    let after = Pool::of(bench, &as_edited(edits));
    let before = edits.len();
    edits.retain(|edit| {
        let Some(page) = bench.pages().get(of(edit)) else { return true };
        let holds = |sentence: &str| match edit {
            Edit::Merge { into, .. } => {
                after.topics.get(into).is_some_and(|target| target.holds(sentence, page.is_own()))
            }
            Edit::Write { .. } => after.holds(sentence, page.is_own()),
        };
        let whole = lost(page, holds).is_empty();
        if !whole {
            let why = "needs another edit, which was left out".to_owned();
            refused.push(Refused { file: File::Topic(of(edit).clone()), why });
        }
        whole
    });
    if edits.len() < before {
        settle(bench, edits, refused);
    }
}

fn as_edited(edits: &[Edit]) -> Edited {
    let files = edits.iter().map(|edit| match edit {
        Edit::Write { name, text } => (File::Topic(name.clone()), text.clone()),
        Edit::Merge { name, into } => (File::Topic(name.clone()), format!("{MERGED_INTO}{into}")),
    });
    Edited { files: files.collect(), ..Edited::default() }
}

/// Sentences that would stand nowhere word for word, and bytes that would come, over all edits.
fn too_much(bench: &Bench, edits: &[Edit]) -> Option<String> {
    let written: usize = edits.iter().map(|edit| growth(bench, edit)).sum();
    if written > MODEL_ADDS_BYTES {
        return Some(format!(
            "the edits add {written} bytes together, {MODEL_ADDS_BYTES} are allowed"
        ));
    }
    let after = Pool::of(bench, &as_edited(edits));
    let (mut all, mut gone) = (0, 0);
    for page in bench.pages().values() {
        all += sentences(page.body()).len();
        gone += lost(page, |sentence| after.holds(sentence, false)).len();
    }
    (gone > MODEL_REWORDS && gone * 100 > all * MODEL_REWORDS_PERCENT).then(|| {
        format!("the edits reword {gone} of {all} sentences together, {MODEL_REWORDS_PERCENT} in a hundred are allowed")
    })
}

fn growth(bench: &Bench, edit: &Edit) -> usize {
    match edit {
        Edit::Write { name, text } => {
            text.len().saturating_sub(bench.pages().get(name).map_or(0, |page| page.text.len()))
        }
        Edit::Merge { .. } => 0,
    }
}
