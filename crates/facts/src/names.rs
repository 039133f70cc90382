//! Names in use: how often, how recently and by whom.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bethink_names::{for_each_name, is_plain, last_part, last_two_parts};
use bethink_transcript::Seq;

use crate::need::{NeedMoment, need};

/// Number of messages after which a mention counts half as much: about the length of one task.
const SLOW_HALF_LIFE: f32 = 300.0;
/// Number of messages after which the weight of a mention, as a sign of current activity, is halved.
const QUICK_HALF_LIFE: f32 = 40.0;
/// Number of names kept. Once there are twice as many, the least used half is dropped.
const MAX_NAMES: usize = 24_000;
/// Maximum number of new names taken from one result: a listing of a thousand files is not a thousand facts.
const NAMES_PER_TEXT: usize = 600;
/// Maximum size of a line, in bytes. Longer lines of a result are minified code or data; JSON meant for people is
/// shorter, even if it is all on one line.
const LINE_BYTES: usize = 20_000;
const MIN_BYTES: usize = 5;
const MAX_BYTES: usize = 120;

/// Where a name occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// The user's own words.
    User,
    /// The assistant's words and the input of its tool calls, which are likely to be repeated.
    Spoken,
    /// A tool result, most of which is never mentioned again.
    Seen,
}

#[derive(Clone, Debug, Default)]
pub struct NameUse {
    pub count: u32,
    pub spoken: u32,
    pub by_user: bool,
    pub first: Seq,
    pub last: Seq,
    pub last_spoken: Seq,
    /// The name with its directory, if the name by itself would be a plain word.
    shown: Option<Box<str>>,
    slow: f32,
    quick: f32,
}

impl NameUse {
    fn record(&mut self, seq: Seq, voice: Voice) {
        let passed = seq.0.saturating_sub(self.last.0);
        let weight = if voice == Voice::Seen { 1.0 } else { 3.0 };
        self.slow = self.slow * decay(passed, SLOW_HALF_LIFE) + weight;
        self.quick = self.quick * decay(passed, QUICK_HALF_LIFE) + weight;
        self.last = seq;
        self.count += 1;
        if voice != Voice::Seen {
            self.spoken += 1;
            self.last_spoken = seq;
            self.by_user |= voice == Voice::User;
        }
    }

    pub(crate) fn slow(&self, now: Seq) -> f32 {
        self.slow * decay(now.0.saturating_sub(self.last.0), SLOW_HALF_LIFE)
    }

    pub(crate) fn quick(&self, now: Seq) -> f32 {
        self.quick * decay(now.0.saturating_sub(self.last.0), QUICK_HALF_LIFE)
    }
}

/// A name, and the probability that it is needed again soon.
#[derive(Clone, Copy, Debug)]
pub struct RankedName<'a> {
    pub name: &'a str,
    pub used: &'a NameUse,
    /// Probability that the name is used again soon, 0 to 1.
    pub need: f32,
}

#[derive(Clone, Debug, Default)]
pub struct Names {
    uses: HashMap<Arc<str>, NameUse>,
}

impl Names {
    pub(crate) fn observe(&mut self, text: &str, seq: Seq, voice: Voice) {
        let mut fresh = 0;
        let read = if voice == Voice::Seen { without_data(text) } else { Cow::Borrowed(text) };
        for_each_name(&read, |whole| {
            let name = last_part(whole);
            if !(MIN_BYTES..=MAX_BYTES).contains(&name.len()) || is_hashed(name) {
                return;
            }
            if let Some(known) = self.uses.get_mut(name) {
                return known.record(seq, voice);
            }
            fresh += 1;
            if voice == Voice::Seen && fresh > NAMES_PER_TEXT {
                return;
            }
            let is_word = is_plain(name) && whole.len() > name.len();
            let shown = is_word.then(|| last_two_parts(whole).into());
            let mut used = NameUse { first: seq, last: seq, shown, ..NameUse::default() };
            used.record(seq, voice);
            self.uses.insert(name.into(), used);
        });
        if self.uses.len() > 2 * MAX_NAMES {
            self.prune(seq);
        }
    }

    fn prune(&mut self, now: Seq) {
        let worth = |n: &NameUse| n.slow(now) + (1.0 + n.spoken as f32).ln();
        let mut all: Vec<f32> = self.uses.values().map(worth).collect();
        all.sort_by(f32::total_cmp);
        let floor = all.get(all.len().saturating_sub(MAX_NAMES)).copied().unwrap_or(0.0);
        self.uses.retain(|_, n| worth(n) > floor);
    }

    pub fn get(&self, name: &str) -> Option<&NameUse> {
        self.uses.get(name)
    }

    /// Returns the form in which a reader recognizes the name.
    pub fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        self.get(name).and_then(|used| used.shown.as_deref()).unwrap_or(name)
    }

    pub fn len(&self) -> usize {
        self.uses.len()
    }

    pub fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &NameUse)> {
        self.uses.iter().map(|(name, used)| (&**name, used))
    }

    /// Returns all names by predicted need, most needed first; ties in alphabetical order.
    pub fn ranked(&self, moment: &NeedMoment<'_>) -> Vec<RankedName<'_>> {
        let mut all: Vec<_> = self
            .iter()
            .map(|(name, used)| RankedName { name, used, need: need(name, used, moment) })
            .collect();
        all.sort_by(|a, b| b.need.total_cmp(&a.need).then(a.name.cmp(b.name)));
        all
    }
}

/// Collects the names in a text, each in the form in which it is stored.
pub fn names_in<'a>(text: &'a str, into: &mut HashSet<&'a str>) {
    for_each_name(text, |whole| {
        into.insert(last_part(whole));
    });
}

/// Removes lines that are too long for a person to read.
fn without_data(text: &str) -> Cow<'_, str> {
    let is_read = |line: &&str| line.len() <= LINE_BYTES;
    match text.split('\n').all(|line| is_read(&line)) {
        true => Cow::Borrowed(text),
        false => text.split('\n').filter(is_read).collect::<Vec<_>>().join("\n").into(),
    }
}

/// Whether this is a build product such as `cli-f20fdc7b237f6acc`, which is never mentioned again.
fn is_hashed(name: &str) -> bool {
    const HASH_DIGITS: usize = 12;
    name.rsplit_once('-').is_some_and(|(_, tail)| {
        tail.len() >= HASH_DIGITS && tail.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Returns the weight of a mention after this many messages: 1 at first, one half after `half_life`.
pub fn decay(messages: u64, half_life: f32) -> f32 {
    (-(messages as f32) / half_life * std::f32::consts::LN_2).exp()
}
