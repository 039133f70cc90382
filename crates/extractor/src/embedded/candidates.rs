//! Finds statements that may be worth remembering, but are less certain than those that match a rule.
//!
//! Candidates are never recalled. A person or the agent decides about them, or the user says the same in a second session.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use bethink_facts::{RecordedStatement, SaidKind};
use bethink_memdir::MemoryKind;
use bethink_transcript::{Seq, UnixMicros};
use regex::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::gates;
use super::parsed::{ParsedSentence, ParsedStatement};
use super::patterns::with_ascii_boundaries;
use super::prose::Sentence;
use super::table::rule_for;
use crate::same::Meaning;

/// Maximum number of candidates of one extraction, and of a session.
pub const MAX_CANDIDATES: usize = 5;
/// Minimum score of a sentence that becomes a candidate.
const MIN_SCORE: i32 = 1;
/// Maximum size of a candidate that consists of several sentences, in bytes.
const MAX_BYTES: usize = 600;
/// Number of candidates, best first, that are compared with each other.
const COMPARED: usize = 200;
/// Penalty for a sentence that only announces what follows.
const OPENING: i32 = 3;
/// Bonus for a statement that rules something out.
const CORRECTION: i32 = 2;
/// Bonus if the user spoke about the same subject in another message.
const REPEATED: i32 = 3;

/// A statement by the user that may be worth remembering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCandidate {
    pub seq: Seq,
    /// When the statement was made.
    pub at: UnixMicros,
    /// The user's own words: one sentence, or several consecutive ones.
    pub sentence: String,
    /// What the statement follows or answers: the user's own sentence before it, or the assistant's last one.
    pub before: Option<String>,
    pub kind: MemoryKind,
    /// The strongest cue that was found.
    pub rule: &'static str,
    /// Estimated value of the statement for later work; candidates are ordered by it.
    pub score: i32,
}

/// The content of `candidates.toml`, which explains each row.
#[derive(Debug, Default, Deserialize)]
struct CueTable {
    cues: Vec<Cue>,
}

#[derive(Debug, Deserialize)]
struct Cue {
    name: String,
    kind: MemoryKind,
    points: i32,
    when: Vec<String>,
    #[serde(default)]
    but: Vec<String>,
}

/// The cues, with all their patterns compiled into one set, so that a sentence is read only once.
#[derive(Debug, Default)]
struct Cues {
    cues: Vec<Cue>,
    patterns: RegexSet,
    /// For each pattern, the number of its cue, and whether the pattern must match.
    owners: Vec<(usize, bool)>,
}

/// Maximum size of the cache of the set's automaton states, in bytes.
const CACHE_BYTES: usize = 1 << 20;

/// Parsed at first use. The file is compiled into the program and a test parses it, so this always succeeds.
static CUES: LazyLock<Cues> = LazyLock::new(|| Cues::read(SOURCE).unwrap_or_default());

const SOURCE: &str = include_str!("candidates.toml");

impl Cues {
    fn read(source: &str) -> Option<Self> {
        let CueTable { cues } = toml::from_str(source).ok()?;
        let (mut owners, mut texts) = (Vec::new(), Vec::new());
        for (at, cue) in cues.iter().enumerate() {
            let when = cue.when.iter().map(|text| (text, true));
            for (text, is_wanted) in when.chain(cue.but.iter().map(|text| (text, false))) {
                owners.push((at, is_wanted));
                texts.push(as_ascii(text));
            }
        }
        let patterns = RegexSetBuilder::new(texts).dfa_size_limit(CACHE_BYTES).build().ok()?;
        Some(Self { cues, patterns, owners })
    }

    /// Returns the cues that match a normalized sentence.
    fn matching(&'static self, plain: &str) -> impl Iterator<Item = &'static Cue> {
        let (mut wanted, mut unwanted) = (BTreeSet::new(), BTreeSet::new());
        for pattern in self.patterns.matches(plain) {
            match self.owners.get(pattern) {
                Some((cue, true)) => wanted.insert(*cue),
                Some((cue, false)) => unwanted.insert(*cue),
                None => false,
            };
        }
        wanted
            .into_iter()
            .filter(move |cue| !unwanted.contains(cue))
            .filter_map(|cue| self.cues.get(cue))
    }
}

/// Makes the character classes of a pattern match ASCII only, which is faster and enough for English.
fn as_ascii(pattern: &str) -> String {
    with_ascii_boundaries(pattern)
        .replace(r"\d", "[0-9]")
        .replace("[\\w", "[a-z0-9_")
        .replace(r"\w", "[a-z0-9_]")
}

/// Returns all candidates of these statements, the best first.
pub fn found_in(statements: Vec<ParsedStatement<'_>>) -> Vec<FoundCandidate> {
    let own = statements.into_iter().filter(|statement| !statement.said.is_interruption());
    let mut found: Vec<FoundCandidate> = own.flat_map(of_statement).collect();
    sort(&mut found);
    reward_repetition(&mut found);
    sort(&mut found);
    found
}

fn sort(found: &mut [FoundCandidate]) {
    found.sort_by_key(|candidate| (std::cmp::Reverse(candidate.score), candidate.seq));
}

/// Raises the score of a statement if the user spoke about the same subject in another message. Only the best [`COMPARED`]
/// statements are compared with each other.
fn reward_repetition(found: &mut [FoundCandidate]) {
    let compared = found.len().min(COMPARED);
    let best = &mut found[..compared];
    let meanings: Vec<Meaning> = best.iter().map(|found| Meaning::of(&found.sentence)).collect();
    let seqs: Vec<Seq> = best.iter().map(|found| found.seq).collect();
    for (at, candidate) in best.iter_mut().enumerate() {
        let mut others = seqs.iter().zip(&meanings).filter(|(seq, _)| **seq != candidate.seq);
        if others.any(|(_, other)| meanings[at].about(other)) {
            candidate.score += REPEATED;
        }
    }
}

/// A sentence with its score.
struct Scored<'a> {
    sentence: Sentence<'a>,
    cue: Option<&'static Cue>,
    score: i32,
}

fn of_statement(statement: ParsedStatement<'_>) -> Vec<FoundCandidate> {
    let statement = statement.after_quotation();
    if statement.is_document() {
        return Vec::new();
    }
    let said = statement.said;
    let own = own_sentences(&statement.sentences);
    let scored: Vec<Scored<'_>> = own.iter().map(|sentence| score(said, sentence)).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < scored.len() {
        let end = run(&said.text, &scored, at);
        if end == at {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).map(|at| scored[at].sentence.text);
        found.push(candidate(said, before, &scored[at..end]));
        at = end;
    }
    found
}

/// Returns the sentences up to one that announces copied text. Text after a colon and a blank line counts as copied
/// unless it is a list.
fn own_sentences<'s, 'a>(sentences: &'s [ParsedSentence<'a>]) -> &'s [ParsedSentence<'a>] {
    let announces = |pair: &[ParsedSentence<'_>]| {
        let [first, second] = [pair[0].sentence, pair[1].sentence];
        first.opens() && !second.item && first.paragraph != second.paragraph
    };
    let end = sentences.windows(2).position(announces).map(|at| at + 1);
    let material = sentences.iter().position(|sentence| gates::opens_material(&sentence.plain));
    let end = end.into_iter().chain(material).min();
    end.and_then(|end| sentences.get(..end)).unwrap_or(sentences)
}

/// Returns the end of the sentences from `start` on that make one candidate.
fn run(text: &str, scored: &[Scored<'_>], start: usize) -> usize {
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let from = offset(scored[start].sentence.text);
    let mut end = start;
    let mut until = from;
    while let Some(next) = scored.get(end).filter(|next| next.score >= MIN_SCORE) {
        let place = offset(next.sentence.text);
        let between = text.get(until..place).unwrap_or_default();
        let follows =
            between.chars().all(|c| c.is_whitespace() || "-*•.)".contains(c) || c.is_numeric());
        if end > start && (place + next.sentence.text.len() - from > MAX_BYTES || !follows) {
            break;
        }
        until = place + next.sentence.text.len();
        end += 1;
    }
    end
}

fn candidate(said: &RecordedStatement, before: Option<&str>, run: &[Scored<'_>]) -> FoundCandidate {
    let text = &said.text;
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let (first, last) = (run[0].sentence.text, run[run.len() - 1].sentence.text);
    let sentence = text.get(offset(first)..offset(last) + last.len()).unwrap_or(first);
    let best = run.iter().max_by_key(|scored| scored.score).unwrap_or(&run[0]);
    let before = before.or(said.question.as_deref()).or(said.claim.as_deref());
    FoundCandidate {
        seq: said.seq,
        at: said.at,
        sentence: sentence.to_owned(),
        before: before.map(str::to_owned),
        kind: best.cue.map_or(MemoryKind::Project, |cue| cue.kind),
        rule: best.cue.map_or("", |cue| &cue.name),
        score: best.score + i32::try_from(run.len() - 1).unwrap_or_default(),
    }
}

fn score<'a>(said: &RecordedStatement, parsed: &ParsedSentence<'a>) -> Scored<'a> {
    let ParsedSentence { sentence, plain } = parsed;
    let (mut score, mut doubt) = (0, 0);
    let mut best: Option<&Cue> = None;
    for cue in CUES.matching(plain) {
        score += cue.points.max(0);
        doubt = doubt.min(cue.points);
        if best.is_none_or(|best| cue.points > best.points) {
            best = Some(cue);
        }
    }
    score += doubt;
    if sentence.opens() {
        score -= OPENING;
    }
    if said.kind == SaidKind::Correction {
        score += CORRECTION;
    }
    // A sentence with several names from the code is about one place in the code.
    let names = sentence.text.split_whitespace().filter(|word| is_code_name(word)).count();
    score -= i32::try_from(names.saturating_sub(1)).unwrap_or_default().min(3);
    if score >= MIN_SCORE {
        score -= match Meaning::of(sentence.text).words.len() {
            0..3 => 4,
            3 => 2,
            _ => 0,
        };
    }
    if score >= MIN_SCORE && (is_taught(plain) || gates::never(sentence.text, plain).is_some()) {
        score = 0;
    }
    Scored { sentence: *sentence, cue: best, score }
}

/// Whether a rule is certain about the sentence, so that it needs no decision.
fn is_taught(plain: &str) -> bool {
    rule_for(plain).is_some() && gates::unless_asked(plain).is_none()
}

/// Whether a word is a symbol, such as `getUser`, `get_user` or `get()`.
fn is_code_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != ')');
    let inner_upper =
        word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    inner_upper || word.contains('_') || word.ends_with("()")
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn said(texts: &[&str]) -> Vec<RecordedStatement> {
        let all = (1..).zip(texts);
        all.map(|(seq, text)| RecordedStatement::new(Seq(seq), text)).collect()
    }

    fn all_found(said: &[RecordedStatement]) -> Vec<FoundCandidate> {
        found_in(parsed::statements(said))
    }

    fn found(texts: &[&str]) -> Vec<(&'static str, String)> {
        let found = all_found(&said(texts)).into_iter();
        found.map(|candidate| (candidate.rule, candidate.sentence)).collect()
    }

    #[test]
    fn every_row_is_a_cue() {
        let cues = Cues::read(SOURCE).unwrap();
        assert_eq!(cues.cues.len(), SOURCE.matches("\n[[cues]]\n").count());
        let mut names: Vec<_> = cues.cues.iter().map(|cue| &cue.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cues.cues.len());
    }

    #[test]
    fn what_may_matter_later_is_a_candidate() {
        let mut wrong = Vec::new();
        let mut check = |text: &str, rule: &'static str| {
            let found = found(&[text]);
            if found != [(rule, text.to_owned())] {
                wrong.push(format!("{text} → {found:?}, not {rule}"));
            }
        };
        check("ensure the importer logs each row that it skips", "ensure");
        check("let's drop the old endpoint", "rejected");
        check("I think a cache is too complex for a tool like ours", "too much");
        check("keep the raw files, otherwise nobody can repeat the analysis", "reason");
        check("the upload is not supposed to retry after a timeout", "by design");
        check("the report should list the skipped rows at the end", "should be");
        check("I'd like the handlers to return typed errors", "wish");
        check("the offline mode comes in a later release, a follow-up", "scope");
        check("there is already a helper for dates in the shared module", "what there is");
        check("the nightly import keeps failing on empty files", "recurrence");
        check("you often forget to look for an existing helper first", "observed of the agent");
        check("what I would do is compare the totals with the ledger", "of the person");
        check("answer each reviewer directly in their thread", "manner");
        check("group them by day, not by week", "contrast");
        check("please don't touch the vendored code", "hands off");
        check("we tried a queue for this in spring and dropped it", "experience");
        check("those mocks are misleading and hard to maintain", "quality");
        check("when someone renames a tag the old cache survives", "how it is");
        check("the fixtures are kept in tests/data/small", "place");
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    #[test]
    fn the_work_of_the_moment_is_none() {
        for text in [
            "yes",
            "let's do it",
            "can you fix the failing tests",
            "what does the parser do with empty files?",
            "is the cache used anywhere?",
            "show me the list again",
            "hang on a sec, I will look",
            "the tests always fail on my machine, why?",
            "we use a cache here, don't we?",
            "My name is shown twice in the header, fix that.",
            "Translate to Spanish: from now on we use pnpm here. The importer should never retry.",
            "let me check that on my machine first",
            "I get a TypeError when I click on save",
            "[Request interrupted by user]",
            "implement the following plan:",
            "agent.Default",
            "> the importer should never retry",
            "```\nthe importer should never retry\n```",
            "the key is sk-live-4fT9aQ2mZx81Lr5Kc0WbN7, make sure we never log it",
        ] {
            assert!(found(&[text]).is_empty(), "{text}");
        }
        // What a rule teaches is written, and needs no person.
        assert!(found(&["From now on, make sure you use pnpm."]).is_empty());
    }

    #[test]
    fn sentences_in_a_row_are_one_candidate() {
        let text =
            "ok. The importer should never retry. Otherwise the vendor blocks us. Show me the log.";
        let found = all_found(&said(&[text]));
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            one.sentence,
            "The importer should never retry. Otherwise the vendor blocks us."
        );
        assert_eq!(one.before.as_deref(), Some("ok."));
        let text =
            "Reviews are slow because of the size.\n```\ncode\n```\nThe drafts should stay small.";
        assert_eq!(all_found(&said(&[text])).len(), 2);
    }

    #[test]
    fn a_candidate_says_what_it_answers() {
        let claim = "I also added the commit to the metadata.";
        let statement = RecordedStatement {
            claim: Some(claim.into()),
            ..RecordedStatement::new(Seq(3), "no, remove it, the risk is too big")
        };
        assert_eq!(all_found(&[statement])[0].before.as_deref(), Some(claim));
    }

    #[test]
    fn a_comment_that_is_quoted_before_an_arrow_is_not_the_persons() {
        let text =
            "The cache should never be shared, it is a risk.\n\n-> it should be shared, on purpose";
        assert_eq!(found(&[text]), [("by design", "it should be shared, on purpose".to_owned())]);
    }

    #[test]
    fn what_a_colon_announces_is_copied_unless_it_is_a_list() {
        let copied = "I got this feedback:\n\nThe importer should never retry, it is a risk.";
        assert!(found(&[copied]).is_empty());
        let list = "two things for later:\n\n- the importer should never retry\n\nThe report should be short.";
        assert_eq!(found(&[list]).len(), 1, "{:?}", found(&[list]));
    }

    #[test]
    fn what_is_said_again_counts_more() {
        let texts = [
            "the totals of the invoice should match the ledger",
            "the importer should write a report",
            "please check that the totals of the invoice match the ledger again, they should",
        ];
        let found = all_found(&said(&texts));
        assert_eq!(found.iter().map(|found| found.seq.0).min_by_key(|seq| *seq), Some(1));
        assert!(
            found.iter().position(|f| f.seq == Seq(1)) < found.iter().position(|f| f.seq == Seq(2))
        );
    }
}
