//! Restores content that a cut would lose and the next turn needs, within budgets. Content that can be read in the kept
//! tail is not repeated. What does not fit is named, with the way to get it.

mod texts;

use std::collections::HashSet;

use bethink_api::{RestoredItem, RestoredKind};
use bethink_context::Attachment;
use bethink_tokens::text_tokens;
use bethink_transcript::Seq;
use bethink_transcript::text::beginning;

use crate::limits::CompactLimits;

/// Content that can be restored, gathered by the daemon.
#[derive(Clone, Debug, Default)]
pub struct Restorable {
    /// Texts, the most important one of each kind first.
    pub texts: Vec<RestorableText>,
    /// Files, the most recently used one first.
    pub files: Vec<RestorableFile>,
}

#[derive(Clone, Debug)]
pub struct RestorableText {
    pub kind: RestoredKind,
    pub name: String,
    pub heading: String,
    pub body: String,
    /// The message of the history that shows the content, if there is one.
    pub seq: Option<Seq>,
    /// What the model can do to get the content, such as `invoke it again`. If there is no body, only this is shown.
    pub again: Option<String>,
}

#[derive(Clone, Debug)]
pub struct RestorableFile {
    pub path: String,
    /// `None` if it is too large or must not be read again.
    pub content: Option<String>,
    /// The message that showed this content, if the file is not on this machine.
    pub shown_in: Option<Seq>,
}

/// What can be read in the kept tail.
#[derive(Clone, Debug, Default)]
pub struct VisibleTail {
    /// Files whose content is shown.
    pub paths: HashSet<String>,
    pub messages: HashSet<Seq>,
    /// The texts and results of all messages.
    pub text: String,
}

impl VisibleTail {
    fn shows(&self, text: &RestorableText) -> bool {
        /// Number of bytes that are compared: a text whose beginning is in the tail is taken to be shown there.
        const SAME_BYTES: usize = 400;
        match text.seq {
            Some(seq) => self.messages.contains(&seq),
            None => {
                let start = beginning(text.body.trim(), SAME_BYTES);
                !start.is_empty() && self.text.contains(start)
            }
        }
    }
}

/// Kinds that share a budget, in the order in which they are shown.
const GROUPS: [&[RestoredKind]; 5] = [
    &[RestoredKind::Plan],
    &[RestoredKind::Agent],
    &[RestoredKind::Instructions, RestoredKind::Tool, RestoredKind::Hook],
    &[RestoredKind::Skill],
    &[RestoredKind::File],
];

/// Maximum size of the list of what was not shown again, in tokens.
const NAMES_TOKENS: u64 = 800;
/// Maximum size of that list as a share of the room, given as a divisor: 8 means one eighth.
const NAMES_SHARE: u64 = 8;
/// Minimum size of a shortened text that is worth showing, in tokens.
const WORTH_TOKENS: u64 = 80;

/// Chooses content within the budgets, and within `room` tokens in total. If not everything fits, no kind takes the share
/// of another.
pub fn select(
    what: &Restorable,
    visible: &VisibleTail,
    after: Seq,
    limits: &CompactLimits,
    room: u64,
) -> (Vec<Attachment>, Vec<RestoredItem>) {
    let files = what.files.iter().filter(|file| !visible.paths.contains(&file.path));
    let files: Vec<RestorableText> = files.take(limits.files).map(RestorableText::file).collect();
    let all: Vec<&RestorableText> =
        what.texts.iter().filter(|text| !visible.shows(text)).chain(&files).collect();
    let group = |kinds: &[RestoredKind]| -> Vec<&RestorableText> {
        kinds
            .iter()
            .flat_map(|kind| all.iter().filter(move |text| text.kind == *kind))
            .copied()
            .collect()
    };
    let groups: Vec<Vec<&RestorableText>> = GROUPS.iter().map(|kinds| group(kinds)).collect();
    let needs: Vec<u64> = groups.iter().map(|texts| need(texts, limits)).collect();
    let names = (room / NAMES_SHARE).min(NAMES_TOKENS);
    let shares = fair_shares(&needs, room - names);
    let mut picked =
        Selection { after, attachments: Vec::new(), items: Vec::new(), omitted: Vec::new() };
    for (texts, mut share) in groups.iter().zip(shares) {
        for text in texts {
            let spent = picked.add(text, budget(text.kind, limits).each.min(share));
            share = share.saturating_sub(spent);
        }
    }
    picked.name_omitted(names);
    (picked.attachments, picked.items)
}

/// Maximum numbers of tokens for one text and for all texts of a kind.
struct KindBudget {
    each: u64,
    all: u64,
}

fn budget(kind: RestoredKind, limits: &CompactLimits) -> KindBudget {
    match kind {
        RestoredKind::File => KindBudget { each: limits.file_tokens, all: limits.files_tokens },
        RestoredKind::Plan | RestoredKind::Instructions => {
            KindBudget { each: limits.skills_tokens, all: limits.skills_tokens }
        }
        _ => KindBudget { each: limits.skill_tokens, all: limits.skills_tokens },
    }
}

/// Returns how many tokens the texts of one group could use.
fn need(texts: &[&RestorableText], limits: &CompactLimits) -> u64 {
    let all = texts.first().map_or(0, |text| budget(text.kind, limits).all);
    let of_text = |text: &&RestorableText| match text.whole() {
        Some(whole) => tokens_of(&whole).min(budget(text.kind, limits).each),
        None => 0,
    };
    texts.iter().map(of_text).sum::<u64>().min(all)
}

/// Divides the room so that the smallest needs are met first, and the others get equal shares.
fn fair_shares(needs: &[u64], mut room: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|at| needs[*at]);
    let mut shares = vec![0; needs.len()];
    for (done, at) in order.into_iter().enumerate() {
        let left = (needs.len() - done) as u64;
        shares[at] = needs[at].min(room / left);
        room -= shares[at];
    }
    shares
}

impl RestorableText {
    /// Makes an attachment of the whole text after message `after`; `None` if only the name is known.
    pub fn attachment(&self, after: Seq) -> Option<Attachment> {
        Some(Attachment::new(after, &self.kind.to_string(), self.name.clone(), self.whole()?))
    }

    /// Returns the whole text; `None` if only the name is known.
    fn whole(&self) -> Option<String> {
        match (self.body.is_empty(), &self.again) {
            (true, Some(_)) => None,
            (true, None) => Some(framed(&self.heading)),
            (false, _) => Some(framed(&format!("{}\n{}", self.heading, self.body))),
        }
    }

    /// Returns the beginning of the text within `limit` tokens; `None` if that is not worth it.
    fn shortened(&self, limit: u64) -> Option<String> {
        if limit < WORTH_TOKENS || self.kind == RestoredKind::File || self.body.is_empty() {
            return None;
        }
        let again = self.again.as_deref().unwrap_or("the rest is in the history");
        let mut bytes = usize::try_from(limit * 4).unwrap_or(usize::MAX).min(self.body.len());
        loop {
            let head = beginning(&self.body, bytes);
            let text = framed(&format!("{}\n{head}\n[Shortened to fit; {again}]", self.heading));
            if tokens_of(&text) <= limit {
                return Some(text);
            }
            bytes = bytes * 4 / 5;
            if bytes == 0 {
                return None;
            }
        }
    }
}

fn framed(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

fn tokens_of(text: &str) -> u64 {
    u64::from(text_tokens(text))
}

struct Selection<'a> {
    after: Seq,
    attachments: Vec<Attachment>,
    items: Vec<RestoredItem>,
    omitted: Vec<&'a RestorableText>,
}

impl<'a> Selection<'a> {
    /// Adds as much of the text as `limit` allows; returns the number of tokens spent.
    fn add(&mut self, text: &'a RestorableText, limit: u64) -> u64 {
        let whole = text.whole().filter(|whole| tokens_of(whole) <= limit);
        let is_whole = whole.is_some();
        match whole.or_else(|| text.shortened(limit)) {
            Some(shown) => self.push(text, shown, !is_whole),
            None => {
                self.omitted.push(text);
                0
            }
        }
    }

    fn push(&mut self, from: &RestorableText, text: String, truncated: bool) -> u64 {
        let RestorableText { kind, name, .. } = from;
        let attachment = Attachment::new(self.after, &kind.to_string(), name.clone(), text);
        let tokens = u64::from(attachment.tokens);
        self.items.push(RestoredItem { kind: *kind, name: name.clone(), tokens, truncated });
        self.attachments.push(attachment);
        tokens
    }

    /// Names what was not shown, within `limit` tokens.
    fn name_omitted(&mut self, limit: u64) {
        let row = |text: &&RestorableText| {
            let again = text.again.as_deref().unwrap_or("it is in the history");
            format!("\n- {} {}: {again}", text.kind, text.name)
        };
        let rows: Vec<String> = self.omitted.iter().map(row).collect();
        for named in (1..=rows.len()).rev() {
            let more = match rows.len() - named {
                0 => String::new(),
                more => format!("\n- and {more} more"),
            };
            let list = rows.iter().take(named).map(String::as_str).collect::<String>();
            let text = framed(&format!("Not shown again after the compaction:{list}{more}"));
            if tokens_of(&text) > limit {
                continue;
            }
            self.attachments.push(Attachment::new(self.after, "omitted", String::new(), text));
            let item = |text: &&RestorableText| RestoredItem {
                kind: text.kind,
                name: text.name.clone(),
                tokens: 0,
                truncated: true,
            };
            self.items.extend(self.omitted.iter().take(named).map(item));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: RestoredKind, name: &str, body: &str) -> RestorableText {
        RestorableText {
            kind,
            name: name.into(),
            heading: format!("{name}:"),
            body: body.into(),
            seq: None,
            again: Some("get it".into()),
        }
    }

    fn skill(name: &str, body: &str) -> RestorableText {
        text(RestoredKind::Skill, name, body)
    }

    fn file(path: &str, content: &str) -> RestorableFile {
        RestorableFile { path: path.into(), content: Some(content.into()), shown_in: None }
    }

    fn check(
        what: &Restorable,
        visible: &VisibleTail,
        room: u64,
    ) -> (Vec<Attachment>, Vec<String>) {
        let (attachments, items) = select(what, visible, Seq(9), &CompactLimits::default(), room);
        let spent: u64 = attachments.iter().map(|a| u64::from(a.tokens)).sum();
        assert!(spent <= room, "{spent} of {room}");
        let name = |i: &RestoredItem| {
            let how = match (i.truncated, i.tokens) {
                (true, 0) => " named",
                (true, _) => " shortened",
                _ => "",
            };
            format!("{}:{}{how}", i.kind, i.name)
        };
        (attachments, items.iter().map(name).collect())
    }

    fn names(what: &Restorable, room: u64) -> Vec<String> {
        check(what, &VisibleTail::default(), room).1
    }

    #[test]
    fn five_files_are_restored_in_full_and_only_once() {
        let files = (1..=7).map(|n| file(&format!("f{n}"), &"x".repeat(100))).collect();
        let what = Restorable { files, ..Restorable::default() };
        let visible =
            VisibleTail { paths: HashSet::from(["f2".to_owned()]), ..VisibleTail::default() };
        let expect = ["file:f1", "file:f3", "file:f4", "file:f5", "file:f6"];
        assert_eq!(check(&what, &visible, 9_000).1, expect);
    }

    #[test]
    fn of_a_large_file_the_name_and_of_a_large_skill_the_beginning_is_restored() {
        let what = Restorable {
            files: vec![
                RestorableFile { path: "huge".into(), content: None, shown_in: None },
                file("big", &"word ".repeat(9_000)),
                file("small", "y"),
            ],
            texts: vec![skill("s", &"word ".repeat(9_000))],
        };
        let (attachments, shown) = check(&what, &VisibleTail::default(), 50_000);
        assert_eq!(shown, ["skill:s shortened", "file:small", "file:huge named", "file:big named"]);
        let note = &attachments.last().unwrap().text;
        assert!(note.contains("- file huge: read the parts that you need"), "{note}");
    }

    /// Code has far from three bytes per estimated token, so a limit in tokens cannot be checked in bytes.
    #[test]
    fn skills_of_any_text_stay_within_their_budget() {
        let json = r#"{"a":[1,2,{"b":"}{"}],"#.repeat(2_000);
        let texts = (0..9).map(|n| skill(&format!("s{n}"), &json)).collect();
        let what = Restorable { texts, ..Restorable::default() };
        let (attachments, _) = check(&what, &VisibleTail::default(), 900_000);
        let limits = CompactLimits::default();
        let of_skills: Vec<u64> =
            attachments.iter().filter(|a| a.what == "skill").map(|a| u64::from(a.tokens)).collect();
        assert!(of_skills.iter().all(|tokens| *tokens <= limits.skill_tokens), "{of_skills:?}");
        assert!(of_skills.iter().sum::<u64>() <= limits.skills_tokens, "{of_skills:?}");
        assert!(of_skills.len() >= 5, "{of_skills:?}");
    }

    #[test]
    fn no_kind_takes_the_share_of_another() {
        let what = Restorable {
            texts: (0..6)
                .map(|n| skill(&format!("s{n}"), &"word ".repeat(3_600)))
                .chain([text(RestoredKind::Plan, "plan", &"step ".repeat(8_000))])
                .collect(),
            files: (0..5).map(|n| file(&format!("f{n}"), &"line ".repeat(800))).collect(),
        };
        let shown = names(&what, 14_000);
        assert!(shown.iter().filter(|name| name.starts_with("file:")).count() == 5, "{shown:?}");
        assert!(shown.iter().any(|name| name == "file:f0"), "{shown:?}");
        assert!(shown.iter().any(|name| name == "skill:s0 shortened" || name == "skill:s0"));
        assert!(shown.iter().any(|name| name == "plan:plan shortened"), "{shown:?}");
        assert!(shown.iter().any(|name| name == "skill:s5 named"), "{shown:?}");
    }

    #[test]
    fn what_the_tail_shows_is_not_repeated() {
        let of_history = RestorableText { seq: Some(Seq(7)), ..skill("recent", "body") };
        let what = Restorable {
            texts: vec![
                of_history,
                RestorableText { seq: Some(Seq(2)), ..skill("old", "body") },
                text(RestoredKind::Instructions, "told", "Always use tabs."),
                text(RestoredKind::Instructions, "untold", "Never use tabs."),
            ],
            ..Restorable::default()
        };
        let visible = VisibleTail {
            messages: HashSet::from([Seq(7), Seq(8)]),
            text: "<system-reminder>Always use tabs.</system-reminder>".into(),
            ..VisibleTail::default()
        };
        assert_eq!(check(&what, &visible, 9_000).1, ["instructions:untold", "skill:old"]);
    }

    #[test]
    fn no_room_restores_nothing() {
        let what = Restorable {
            texts: vec![text(RestoredKind::Plan, "p", &"x".repeat(9_000))],
            files: vec![file("f", "y")],
        };
        assert_eq!(names(&what, 0), Vec::<String>::new());
    }

    #[test]
    fn small_needs_are_met_first() {
        assert_eq!(fair_shares(&[100, 10, 1_000, 0], 500), [100, 10, 390, 0]);
        assert_eq!(fair_shares(&[300, 300, 300], 600), [200, 200, 200]);
        assert_eq!(fair_shares(&[5, 5], 0), [0, 0]);
    }
}
