//! Names in use: how often, how lately, and around which file.

use std::collections::HashMap;
use std::sync::Arc;

use bethink_recall::{for_each_name, is_plain, last_part, last_two_parts};
use bethink_transcript::Seq;

/// Weight of a name in something said or done; what is said is said again.
pub(super) const SPOKEN: f32 = 3.0;
/// Weight of a name in a tool's result, of which most is never referred to.
pub(super) const SEEN: f32 = 1.0;
/// Messages after which a mention counts half: about the length of one stretch of work.
const HALF_LIFE: f32 = 90.0;
/// Names that are kept; beyond twice so many the weakest half goes.
const MAX_NAMES: usize = 24_000;
/// One result lists at most so many new names: a listing of a thousand files is no thousand facts.
const NAMES_A_TEXT: usize = 600;

#[derive(Clone, Debug)]
pub struct NameUse {
    pub count: u32,
    pub spoken: u32,
    pub first: Seq,
    pub last: Seq,
    /// Index of the file that was being worked on when it was last met.
    pub focus: Option<usize>,
    /// How it is written down where the name alone would be a mere word: with its directory.
    shown: Option<Box<str>>,
    score: f32,
}

impl NameUse {
    /// Predicted need at message `now`: what was used lately and often will be used again; a part
    /// that does not fade keeps what mattered long ago.
    pub fn need(&self, now: Seq) -> f32 {
        let faded = self.score * decay(now.0.saturating_sub(self.last.0));
        faded + 1.4 * (1.0 + self.spoken as f32).ln() + 0.35 * (1.0 + self.count as f32).ln()
    }
}

/// A build product such as `cli-f20fdc7b237f6acc`: nobody says it twice.
fn is_hashed(name: &str) -> bool {
    const HASH_DIGITS: usize = 12;
    name.rsplit_once('-').is_some_and(|(_, tail)| {
        tail.len() >= HASH_DIGITS && tail.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn decay(messages: u64) -> f32 {
    (-(messages as f32) / HALF_LIFE * std::f32::consts::LN_2).exp()
}

#[derive(Clone, Debug, Default)]
pub struct Names {
    uses: HashMap<Arc<str>, NameUse>,
}

impl Names {
    pub fn observe(&mut self, text: &str, seq: Seq, weight: f32, focus: Option<usize>) {
        let mut fresh = 0;
        for_each_name(text, |whole| {
            let name = last_part(whole);
            if name.len() < 5 || name.len() > 120 || is_hashed(name) {
                return;
            }
            if let Some(known) = self.uses.get_mut(name) {
                known.score = known.score * decay(seq.0 - known.last.0) + weight;
                known.last = seq;
                known.count += 1;
                if weight >= SPOKEN {
                    known.spoken += 1;
                    known.focus = focus.or(known.focus);
                }
                return;
            }
            fresh += 1;
            if weight < SPOKEN && fresh > NAMES_A_TEXT {
                return;
            }
            let spoken = u32::from(weight >= SPOKEN);
            let shown =
                (is_plain(name) && whole.len() > name.len()).then(|| last_two_parts(whole).into());
            let first =
                NameUse { shown, count: 1, spoken, first: seq, last: seq, focus, score: weight };
            self.uses.insert(name.into(), first);
        });
        if self.uses.len() > 2 * MAX_NAMES {
            self.prune(seq);
        }
    }

    fn prune(&mut self, now: Seq) {
        let mut needs: Vec<f32> = self.uses.values().map(|n| n.need(now)).collect();
        needs.sort_by(f32::total_cmp);
        let floor = needs.get(needs.len().saturating_sub(MAX_NAMES)).copied().unwrap_or(0.0);
        self.uses.retain(|_, n| n.need(now) > floor);
    }

    pub fn get(&self, name: &str) -> Option<&NameUse> {
        self.uses.get(name)
    }

    /// How a reader will recognise the name.
    pub fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        self.get(name).and_then(|used| used.shown.as_deref()).unwrap_or(name)
    }

    pub fn len(&self) -> usize {
        self.uses.len()
    }

    pub fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Names by predicted need at `now`, most needed first; ties in order of the alphabet.
    pub fn ranked(&self, now: Seq) -> Vec<(&str, &NameUse)> {
        let mut all: Vec<_> =
            self.uses.iter().map(|(name, used)| (used.need(now), &**name, used)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        all.into_iter().map(|(_, name, used)| (name, used)).collect()
    }
}
