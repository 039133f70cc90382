//! Reads conversations with questions in LoCoMo's format, and indexes them in memory like the daemon.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::path::Path;

use bethink_recall::days::{DAYS_AFTER, Day, named_days};
use bethink_recall::marks::{self, marks};
use bethink_recall::question::FAMILY_SPREAD;
use bethink_recall::{
    Evidence, Question, RankedMessage, SessionExtent, Weights, fields, phrase, rank,
};
use bethink_store::{Counts, Posting};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use bytes::Bytes;
use serde_json::{Value, json};

/// Number of hits to judge, and of candidates to rank again, as in the daemon.
const HITS: usize = 50;
const SECOND_LOOK: usize = 10;
const TOP: usize = 10;

/// A conversation with its questions.
#[derive(Debug)]
pub struct Talk {
    pub name: String,
    turns: Vec<Turn>,
    postings: BTreeMap<String, Vec<Posting>>,
    extent: SessionExtent,
    questions: Vec<Asked>,
}

#[derive(Debug)]
struct Turn {
    id: String,
    text: String,
}

#[derive(Debug)]
struct Asked {
    evidence: HashSet<String>,
    question: Question,
    terms: Vec<Vec<Posting>>,
    families: Vec<Vec<Posting>>,
    speakers: Vec<Vec<Posting>>,
    days: Vec<Vec<Posting>>,
    days_after: Vec<Vec<Posting>>,
}

/// Sums of results over questions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub questions: f64,
    pub turn_frac10: f64,
    pub session_hit1: f64,
    pub mrr: f64,
}

/// Reads all conversations of a file.
pub fn load(path: &Path) -> Vec<Talk> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let samples: Vec<Value> =
        serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    samples.iter().map(Talk::of).collect()
}

impl Talk {
    fn of(sample: &Value) -> Self {
        let mut talk = Self {
            name: sample["sample_id"].as_str().unwrap_or_default().to_owned(),
            turns: Vec::new(),
            postings: BTreeMap::new(),
            extent: SessionExtent { last: 0, messages: 0, terms: 0 },
            questions: Vec::new(),
        };
        let conversation = &sample["conversation"];
        let mut before = None;
        for number in 1.. {
            let name = format!("session_{number}");
            let Some(turns) = conversation[&name].as_array() else { break };
            let date = conversation[format!("{name}_date_time")].as_str().unwrap_or_default();
            for turn in turns {
                let first = turn["speaker"] == conversation["speaker_a"];
                before = Some(talk.add(turn, first, date, before.as_ref()));
            }
        }
        let questions: Vec<Asked> =
            array(&sample["qa"]).iter().filter_map(|asked| talk.asked(asked)).collect();
        Self { questions, ..talk }
    }

    fn add(&mut self, turn: &Value, first: bool, date: &str, before: Option<&Message>) -> Message {
        let said = |member: &str| turn[member].as_str().unwrap_or_default().to_owned();
        let photo = match said("blip_caption") {
            caption if caption.is_empty() => caption,
            caption => format!(" [photo: {caption}]"),
        };
        let text = format!("[{date}] {}: {}{photo}", said("speaker"), said("text"));
        let seq = self.extent.last + 1;
        let message = message(seq, if first { "user" } else { "assistant" }, &text);
        self.index(seq, &message, before);
        self.turns.push(Turn { id: said("dia_id"), text });
        message
    }

    fn index(&mut self, seq: u32, message: &Message, before: Option<&Message>) {
        let fields = fields(message);
        let marks = marks(message, before);
        let said = [&fields.user, &fields.assistant, &fields.tool_input, &fields.tool_result];
        let length: usize = said.iter().map(|terms| terms.split_ascii_whitespace().count()).sum();
        let mut count = |term: &str, field: Option<usize>| {
            let list = self.postings.entry(term.to_owned()).or_default();
            if list.last().is_none_or(|last| last.seq != seq) {
                let counts = Counts::default();
                let length = Posting::length_code(length);
                list.push(Posting { session: 0, seq, counts, length });
            }
            if let (Some(field), Some(last)) = (field, list.last_mut()) {
                last.counts.add(field);
            }
        };
        for (field, terms) in said.iter().enumerate() {
            terms.split_ascii_whitespace().for_each(|term| count(term, Some(field)));
        }
        marks.split_ascii_whitespace().for_each(|mark| count(mark, None));
        self.extent.last = seq;
        self.extent.messages += 1;
        self.extent.terms += length as u64;
    }

    /// Reads a question; `None` if it has no evidence.
    fn asked(&self, asked: &Value) -> Option<Asked> {
        let known: HashSet<&str> = self.turns.iter().map(|turn| turn.id.as_str()).collect();
        let evidence: HashSet<String> = array(&asked["evidence"])
            .iter()
            .filter_map(Value::as_str)
            .flat_map(turn_ids)
            .filter(|id| known.contains(id))
            .map(str::to_owned)
            .collect();
        if evidence.is_empty() {
            return None;
        }
        let text = asked["question"].as_str().unwrap_or_default().to_owned();
        let question = Question::new(&text);
        let list = |term: &String| self.postings.get(term).cloned().unwrap_or_default();
        let day_lists = |first: i64, last: i64| -> Vec<Vec<Posting>> {
            (first..=last).map(|day| list(&marks::by_day(Day(day)))).collect()
        };
        // The day of the question does not matter here.
        let days = named_days(&text, Day(0));
        let after =
            |days: &RangeInclusive<Day>| day_lists(days.end().0 + 1, days.end().0 + DAYS_AFTER);
        Some(Asked {
            evidence,
            days_after: days.as_ref().map(after).unwrap_or_default(),
            days: days.map(|days| day_lists(days.start().0, days.end().0)).unwrap_or_default(),
            terms: question.terms.iter().map(list).collect(),
            families: question
                .families
                .iter()
                .map(|(number, start)| self.family(start, &question.terms[*number]))
                .collect(),
            speakers: question.words.iter().map(|word| list(&marks::by_speaker(word))).collect(),
            question,
        })
    }

    fn family(&self, start: &str, except: &str) -> Vec<Posting> {
        let lengths = except.len().saturating_sub(FAMILY_SPREAD)..=except.len() + FAMILY_SPREAD;
        let mut kin: BTreeMap<u32, Posting> = BTreeMap::new();
        let from = self.postings.range(start.to_owned()..);
        for (term, list) in from.take_while(|(term, _)| term.starts_with(start)) {
            if term == except || !lengths.contains(&term.len()) {
                continue;
            }
            for posting in list {
                kin.entry(posting.seq)
                    .and_modify(|known| known.counts = known.counts.with(posting.counts))
                    .or_insert(*posting);
            }
        }
        kin.into_values().collect()
    }

    /// Asks every question, and scores the answers like LoCoMo.
    pub fn judged(&self, weights: &Weights) -> Sums {
        let mut sums = Sums::default();
        for asked in &self.questions {
            sums.add(&self.judge(asked, &self.hits(asked, weights)));
        }
        sums
    }

    /// Returns the ids of turns, best first.
    fn hits(&self, asked: &Asked, weights: &Weights) -> Vec<&str> {
        let none: &[Posting] = &[];
        let mark = |mark: &str| self.postings.get(mark).map_or(none, Vec::as_slice);
        let evidence = Evidence {
            sessions: &[self.extent],
            terms: asked.terms.iter().map(|list| Some(list.as_slice())).collect(),
            families: asked.families.iter().map(Vec::as_slice).collect(),
            begins: mark(marks::BEGINS),
            asks: mark(marks::ASKS),
            ends_asking: mark(marks::ENDS_ASKING),
            tells_when: if asked.question.asks_when { mark(marks::TELLS_WHEN) } else { none },
            speakers: asked.speakers.iter().map(Vec::as_slice).collect(),
            days: asked.days.iter().map(Vec::as_slice).collect(),
            days_after: asked.days_after.iter().map(Vec::as_slice).collect(),
            literal: asked.question.is_keywords,
            filters: Vec::new(),
        };
        let mut ranked = rank(&evidence, weights, HITS + SECOND_LOOK);
        let turn = |hit: &RankedMessage| &self.turns[hit.seq as usize - 1];
        let Question { terms, phrases, needs_phrases, .. } = &asked.question;
        ranked.retain(|hit| !needs_phrases || phrase::holds(&turn(hit).text, phrases));
        for hit in &mut ranked {
            let text = &turn(hit).text;
            hit.score += phrase::together(text, terms) + phrase::held(text, phrases);
        }
        ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
        ranked.iter().take(HITS).map(|hit| turn(hit).id.as_str()).collect()
    }

    fn judge(&self, asked: &Asked, hits: &[&str]) -> Sums {
        let is_evidence = |id: &&str| asked.evidence.contains(*id);
        let found = hits.iter().take(TOP).filter(|id| is_evidence(id)).count();
        let first = hits.first().map(|id| session_of(id));
        let right = asked.evidence.iter().any(|id| Some(session_of(id)) == first);
        let rank = hits.iter().position(is_evidence);
        Sums {
            questions: 1.0,
            turn_frac10: found as f64 / asked.evidence.len() as f64,
            session_hit1: f64::from(u8::from(right)),
            mrr: rank.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
        }
    }
}

impl Sums {
    pub fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.turn_frac10 += other.turn_frac10;
        self.session_hit1 += other.session_hit1;
        self.mrr += other.mrr;
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns `D3` for `D3:14`.
fn session_of(id: &str) -> &str {
    id.split_once(':').map_or(id, |(session, _)| session)
}

/// Splits evidence with several turns: `D8:6; D9:17`.
fn turn_ids(evidence: &str) -> impl Iterator<Item = &str> {
    evidence.split([';', ',', ' ']).filter(|id| !id.is_empty())
}

fn message(seq: u32, role: &str, text: &str) -> Message {
    let raw = Bytes::from(json!({"role": role, "content": text}).to_string());
    let meta = MessageMeta {
        seq: Seq(u64::from(seq)),
        id: MessageId::new(&format!("m{seq}")).expect("an id"),
        created_at: UnixMicros(0),
    };
    Message::parse(meta, raw, MessageSource::Client).expect("a message")
}
