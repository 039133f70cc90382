//! Picks the topics that a question is about, or none.

use std::cmp::Ordering;
use std::collections::HashMap;

use bethink_api::{RecallCertainty, TopicField};

use super::ask::{QuestionWord, Reading, words};
use super::card::FIELDS;
use super::catalog::{Catalog, TopicId, TopicPosting};
use super::fit::{Match, TopicFit, aboutness, fit};
use super::tools::is_manual_of;
use super::weights::{ALIKE, ANSWERED, BESIDE_BEST, CLOSE_LOOK, NEAR_MEANING, WIDE_LOOK};

#[derive(Clone, Copy, Debug, Default)]
pub struct CatalogQuery<'a> {
    pub question: &'a str,
    /// Names of recently used tools. Topics that only explain how to use these tools are left out.
    pub recent_tools: &'a [String],
    pub exclude: &'a [TopicId],
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    pub id: TopicId,
    pub why: Why,
    pub certainty: RecallCertainty,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Why {
    /// Words as spelled in the question, with the parts of the topic that contain them. The most informative are first.
    pub terms: Vec<(String, Vec<TopicField>)>,
    /// Score from 0 to 1, comparable between directories.
    pub score: f32,
}

/// Returns the topics that a question is about, best first; none if nothing fits.
pub fn select(catalog: &Catalog, ask: &CatalogQuery<'_>) -> Vec<Pick> {
    let words = words(catalog, ask.question, Reading::Doubtful);
    let mut fits: Vec<(u32, f32)> = candidates(catalog, &words, could_fit)
        .into_iter()
        .filter(|slot| is_wanted(catalog, *slot, ask))
        .take(CLOSE_LOOK)
        .map(|slot| (slot, fit(catalog, slot, &matches(catalog, &words, slot))))
        .filter(|(_, fit)| fit.is_enough())
        .map(|(slot, fit)| (slot, fit.score()))
        .collect();
    fits.sort_by(best_first);
    let best = fits.first().map_or(0.0, |(_, score)| *score);
    fits.retain(|(_, score)| *score >= BESIDE_BEST * best);
    fits.truncate(ask.limit);
    let sure = RecallCertainty::Sure;
    fits.into_iter().map(|(slot, score)| pick(catalog, &words, slot, score, sure)).collect()
}

/// Returns the topics that are nearest to an explicit question: first those that [`select`] would pick, then the
/// others, each best first. `alike` states how similar in meaning the topics are to the question, where that is known.
/// This similarity affects the order and adds topics that use other words, but it never marks a pick as sure. The
/// result is empty only if no topic shares a word with the question or is similar to it.
pub fn nearest(catalog: &Catalog, ask: &CatalogQuery<'_>, alike: &[(TopicId, f32)]) -> Vec<Pick> {
    let words = words(catalog, ask.question, Reading::Trusting);
    let alike = Alike::new(catalog, alike);
    let by_words = candidates(catalog, &words, |_, _| true).into_iter();
    let mut slots: Vec<u32> =
        by_words.filter(|slot| is_wanted(catalog, *slot, ask)).take(CLOSE_LOOK).collect();
    let others =
        alike.most().filter(|slot| !slots.contains(slot) && is_wanted(catalog, *slot, ask));
    let others: Vec<u32> = others.take(CLOSE_LOOK).collect();
    slots.extend(others);
    let nearness = |slot| fit(catalog, slot, &matches(catalog, &words, slot)).nearness();
    let by_words: Vec<(u32, f32)> = slots.into_iter().map(|slot| (slot, nearness(slot))).collect();
    let best = by_words.iter().copied().filter(|(_, words)| *words > 0.0).min_by(best_first);
    let mut near: Vec<(u32, f32)> =
        by_words.into_iter().map(|(slot, words)| (slot, alike.joined(words, slot))).collect();
    near.sort_by(best_first);
    // Similar topics do not displace the topic whose words fit best.
    if let Some((best, _)) = best
        && let Some(at) = near.iter().position(|(slot, _)| *slot == best)
        && at >= ask.limit
        && ask.limit > 1
    {
        near.swap(at, ask.limit - 1);
    }
    near.truncate(ask.limit);
    let doubtful = self::words(catalog, ask.question, Reading::Doubtful);
    let picks = near.into_iter().map(|(slot, score)| {
        let is_sure = fit(catalog, slot, &matches(catalog, &doubtful, slot)).is_enough();
        let certainty = if is_sure { RecallCertainty::Sure } else { RecallCertainty::Perhaps };
        pick(catalog, &words, slot, score, certainty)
    });
    in_order(picks.collect())
}

/// Whether the words alone answer a question, so that the meaning of the topics need not be compared with it. `picks`
/// is the result of [`nearest`] without `alike`.
pub fn is_answered(picks: &[Pick]) -> bool {
    let best = picks.first();
    best.is_some_and(|best| best.certainty == RecallCertainty::Sure && best.why.score >= ANSWERED)
}

/// How similar topics are to a question in meaning.
#[derive(Debug, Default)]
struct Alike {
    /// For the slot of each topic that is similar enough, how far its similarity exceeds the mean of all topics or [`ALIKE`], whichever is lower.
    above: HashMap<u32, f32>,
    /// The slots of all topics that are similar enough, the most similar first.
    most: Vec<u32>,
}

impl Alike {
    fn new(catalog: &Catalog, alike: &[(TopicId, f32)]) -> Self {
        let mean = alike.iter().map(|(_, alike)| alike).sum::<f32>() / alike.len().max(1) as f32;
        // A directory with one topic has no mean to compare with.
        let base = mean.min(ALIKE);
        let known = alike.iter().filter_map(|(id, alike)| Some((catalog.slot(*id)?, *alike)));
        let mut known: Vec<(u32, f32)> = known.filter(|(_, alike)| *alike >= ALIKE).collect();
        known.sort_by(best_first);
        Self {
            most: known.iter().map(|(slot, _)| *slot).collect(),
            above: known.into_iter().map(|(slot, alike)| (slot, alike - base)).collect(),
        }
    }

    fn most(&self) -> impl Iterator<Item = u32> {
        self.most.iter().copied()
    }

    /// Adds the similarity in meaning to a score that is based on words. The result is between 0 and 1.
    fn joined(&self, by_words: f32, slot: u32) -> f32 {
        if self.above.is_empty() {
            return by_words;
        }
        let above = self.above.get(&slot).copied().unwrap_or_default();
        ((by_words + NEAR_MEANING * above) / NEAR_MEANING).min(1.0)
    }
}

/// Returns the best picks of several wordings of one question, each topic once.
pub fn merged(of_wordings: Vec<Vec<Pick>>, limit: usize) -> Vec<Pick> {
    let mut picks: Vec<Pick> = Vec::new();
    for pick in of_wordings.into_iter().flatten() {
        match picks.iter_mut().find(|known| known.id == pick.id) {
            Some(known) if known.why.score >= pick.why.score => {
                known.certainty = known.certainty.min(pick.certainty);
            }
            Some(known) => {
                let certainty = known.certainty.min(pick.certainty);
                *known = Pick { certainty, ..pick };
            }
            None => picks.push(pick),
        }
    }
    picks.sort_by(|a, b| b.why.score.total_cmp(&a.why.score));
    picks.truncate(limit);
    in_order(picks)
}

fn best_first(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// Puts sure picks first, and keeps the order otherwise.
fn in_order(mut picks: Vec<Pick>) -> Vec<Pick> {
    picks.sort_by_key(|pick| pick.certainty);
    picks
}

/// Returns all topics with any match, best first, without a threshold, for a model to choose from.
pub fn ranked(catalog: &Catalog, ask: &CatalogQuery<'_>) -> Vec<TopicId> {
    let words = words(catalog, ask.question, Reading::Doubtful);
    let slots = candidates(catalog, &words, could_fit).into_iter();
    let wanted = slots.filter(|slot| is_wanted(catalog, *slot, ask)).take(ask.limit);
    wanted.map(|slot| catalog.topics[slot as usize].id).collect()
}

/// Explains which words of a question a topic matches, whether or not it would be picked.
pub fn why(catalog: &Catalog, question: &str, id: TopicId) -> Option<Why> {
    let slot = catalog.slot(id)?;
    let words = words(catalog, question, Reading::Doubtful);
    let fit = fit(catalog, slot, &matches(catalog, &words, slot));
    Some(explained(catalog, &words, slot, fit.score()))
}

/// Whether a topic only explains how to use one of these tools.
pub fn is_manual(catalog: &Catalog, id: TopicId, tools: &[String]) -> bool {
    let topic = catalog.slot(id).and_then(|slot| catalog.topics.get(slot as usize));
    topic.is_some_and(|topic| tools.iter().any(|tool| is_manual_of(topic.manual.as_deref(), tool)))
}

fn is_wanted(catalog: &Catalog, slot: u32, ask: &CatalogQuery<'_>) -> bool {
    let topic = &catalog.topics[slot as usize];
    !topic.is_gone
        && !ask.exclude.contains(&topic.id)
        && !ask.recent_tools.iter().any(|tool| is_manual_of(topic.manual.as_deref(), tool))
}

/// Returns the topics that cover the most of the question, best first, at most [`WIDE_LOOK`].
///
/// The most informative words are looked up first. Once a topic that matches only the remaining words could no longer
/// be picked, no more topics are added: the remaining words are common and have long lists, and only add to the scores
/// of topics that were already found.
fn candidates(
    catalog: &Catalog,
    words: &[QuestionWord],
    could_fit: impl Fn(f32, f32) -> bool,
) -> Vec<u32> {
    let mut covered = vec![0.0_f32; catalog.topics.len()];
    let mut found: Vec<u32> = Vec::new();
    let mut share_left = 1.0_f32;
    let mut evidence_left: f32 = words.iter().map(|word| word.information).sum();
    for word in words {
        let admits = could_fit(share_left, evidence_left);
        for (slot, about) in answers(catalog, word, admits, &found) {
            let place = &mut covered[slot as usize];
            if *place == 0.0 {
                if !admits {
                    continue;
                }
                found.push(slot);
            }
            *place += word.share * about;
        }
        share_left -= word.share;
        evidence_left -= word.information;
    }
    let covered = |slot: &u32| covered[*slot as usize];
    let by_cover = |a: &u32, b: &u32| covered(b).total_cmp(&covered(a)).then(a.cmp(b));
    if found.len() > WIDE_LOOK {
        found.select_nth_unstable_by(WIDE_LOOK, by_cover);
        found.truncate(WIDE_LOOK);
    }
    found.sort_unstable_by(by_cover);
    found
}

/// Whether a topic that matches only the remaining words could be picked at all.
fn could_fit(share_left: f32, evidence_left: f32) -> bool {
    let left = TopicFit {
        covered: share_left,
        together: share_left,
        joint: share_left,
        header: share_left,
        named: 1.0,
        evidence: evidence_left,
    };
    left.is_enough()
}

/// Returns the topics that contain a word, each with the probability that it is about the word. If `admits` is false,
/// topics that are not in `found` may be left out.
fn answers(catalog: &Catalog, word: &QuestionWord, admits: bool, found: &[u32]) -> Vec<(u32, f32)> {
    let mut answers = Vec::new();
    for (number, worth) in &word.terms {
        let postings = &catalog.postings[*number as usize];
        let mut add = |posting: &TopicPosting| {
            let length = catalog.topics[posting.slot as usize].length;
            answers.push((posting.slot, worth * aboutness(posting, length)));
        };
        if !admits && found.len() * SEARCH_COST < postings.len() {
            found.iter().filter_map(|slot| look_up(postings, *slot)).for_each(&mut add);
        } else {
            postings.iter().for_each(&mut add);
        }
    }
    if word.terms.len() > 1 {
        // If several terms match one word, the best counts.
        answers.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        answers.dedup_by_key(|(slot, _)| *slot);
    }
    answers
}

/// Looking up a topic in a list costs about as much as scanning this many postings.
const SEARCH_COST: usize = 16;

fn look_up(postings: &[TopicPosting], slot: u32) -> Option<&TopicPosting> {
    let at = postings.binary_search_by_key(&slot, |posting| posting.slot).ok()?;
    Some(&postings[at])
}

fn matches<'a>(catalog: &'a Catalog, words: &'a [QuestionWord], slot: u32) -> Vec<Match<'a>> {
    let found = words.iter().filter_map(|word| {
        let of_terms = word.terms.iter().filter_map(|(number, worth)| {
            let posting = look_up(&catalog.postings[*number as usize], slot)?;
            Some(Match { word, posting, number: *number, worth: *worth })
        });
        of_terms.max_by(|a, b| a.worth.total_cmp(&b.worth))
    });
    found.collect()
}

fn pick(
    catalog: &Catalog,
    words: &[QuestionWord],
    slot: u32,
    score: f32,
    certainty: RecallCertainty,
) -> Pick {
    let why = explained(catalog, words, slot, score);
    Pick { id: catalog.topics[slot as usize].id, why, certainty }
}

fn explained(catalog: &Catalog, words: &[QuestionWord], slot: u32, score: f32) -> Why {
    let terms = matches(catalog, words, slot).into_iter().map(|found| {
        let fields = FIELDS.into_iter().filter(|field| found.posting.mark.is_in(*field));
        (found.word.written.clone(), fields.collect())
    });
    Why { terms: terms.collect(), score }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::Card;

    fn catalog() -> Catalog {
        let mut catalog = Catalog::default();
        for (id, name, description, body) in [
            (
                0,
                "fog",
                "how far one sees",
                "FogPlugin sets `scene.fog`; the default distance is 800.",
            ),
            (1, "water", "flat surface from water.dat", "307 quads, textured, no shader."),
            (2, "grep-usage", "flags of grep that we use", "`grep -rn word`"),
            (3, "grep-warning", "gotcha: grep -P is slow on the mount", "It took ten minutes."),
            (4, "database-access", "connections come from a pool", "Ten connections at most."),
        ] {
            catalog.put(TopicId(id), &Card { name, description, ..Card::default() }, body);
        }
        catalog.settle();
        catalog
    }

    fn check(question: &str, expect: &[u32]) {
        let picks =
            select(&catalog(), &CatalogQuery { question, limit: 5, ..CatalogQuery::default() });
        let ids: Vec<u32> = picks.iter().map(|pick| pick.id.0).collect();
        assert_eq!(ids, expect, "{question}: {picks:?}");
    }

    #[test]
    fn words_answer_what_is_in_a_name_or_description() {
        let catalog = catalog();
        let check = |question: &str, expect: bool| {
            let ask = CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
            let picks = nearest(&catalog, &ask, &[]);
            assert_eq!(is_answered(&picks), expect, "{question}: {picks:?}");
        };
        check("fog", true);
        check("where do connections to the database come from", true);
        check("how many quads", false);
        check("haze swallows remote towers", false);
    }

    #[test]
    fn topics_that_are_asked_for() {
        check("how far does the fog reach", &[0]);
        check("fog", &[0]);
        check("setFogDistance fog plugin", &[0]);
        check("waters", &[1]);
        check("wtaer surface", &[1]);
        check("how many quads has the water", &[1]);
        check("db access", &[4]);
    }

    #[test]
    fn nothing_where_nothing_fits() {
        for question in [
            "",
            "???",
            "continue",
            "yes, do it please",
            "fix it",
            "add a login page with a password field",
            "multiplayer over websockets",
            "warum ist das so langsam?",
            "修复登录页面的错误",
            "at org.acme.Main.run(Main.java:42) at org.acme.Pool.take(Pool.java:7)",
        ] {
            check(question, &[]);
        }
    }

    fn near(question: &str) -> Vec<(u32, RecallCertainty)> {
        let ask = CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
        nearest(&catalog(), &ask, &[]).iter().map(|pick| (pick.id.0, pick.certainty)).collect()
    }

    #[test]
    fn who_asks_gets_what_is_near() {
        use RecallCertainty::{Perhaps, Sure};
        assert_eq!(near("how far does the fog reach"), [(0, Sure)]);
        assert_eq!(near("is the surface slow to update"), [(1, Perhaps), (3, Perhaps)]);
        assert_eq!(near("data base"), [(4, Perhaps)]);
        assert_eq!(near("multiplayer over websockets"), []);
        assert_eq!(near(""), []);
        let found = near("flags of grep, and the default distance");
        assert_eq!(found[0], (2, Sure), "the sure ones are first: {found:?}");
        assert_eq!(found.last().unwrap().1, Perhaps, "{found:?}");
    }

    #[test]
    fn a_similar_meaning_finds_topics_with_other_words() {
        let ask =
            CatalogQuery { question: "bad view in the mist", limit: 2, ..CatalogQuery::default() };
        let ids = |alike: &[(TopicId, f32)]| -> Vec<(u32, RecallCertainty)> {
            let picks = nearest(&catalog(), &ask, alike);
            picks.iter().map(|pick| (pick.id.0, pick.certainty)).collect()
        };
        assert_eq!(ids(&[]), []);
        let alike = [(TopicId(0), 0.5), (TopicId(1), 0.3), (TopicId(3), 0.1), (TopicId(99), 0.9)];
        assert_eq!(ids(&alike)[0], (0, RecallCertainty::Perhaps), "meaning alone is never sure");
        assert_eq!(ids(&[(TopicId(0), 0.1), (TopicId(1), 0.05)]), [], "nothing is near");
        // A topic's own words still win over the meaning of another topic.
        let own = CatalogQuery { question: "default fog distance", ..ask };
        let picks = nearest(&catalog(), &own, &[(TopicId(1), 0.5), (TopicId(0), 0.3)]);
        assert_eq!((picks[0].id.0, picks[0].certainty), (0, RecallCertainty::Sure));
        // And a topic is always found by the words that fit it best.
        let few = CatalogQuery { question: "how many quads", ..ask };
        let others = [0, 2, 3, 4].map(|id| (TopicId(id), 0.9));
        assert_eq!(nearest(&catalog(), &few, &others)[1].id.0, 1);
    }

    #[test]
    fn of_several_wordings_each_topic_comes_once() {
        let catalog = catalog();
        let ask = |question| CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
        let of = |questions: &[&'static str], limit| -> Vec<u32> {
            let of_wordings =
                questions.iter().map(|question| nearest(&catalog, &ask(question), &[]));
            merged(of_wordings.collect(), limit).iter().map(|pick| pick.id.0).collect()
        };
        assert_eq!(of(&["fog distance", "how far one sees"], 5), [0]);
        assert_eq!(of(&["nothing of that", "flat surface of the water"], 5), [1]);
        assert_eq!(of(&["flat surface of the water", "fog distance"], 1).len(), 1);
    }

    /// `fogLights` is not the fog, and a type in a file's name says nothing about its subject.
    #[test]
    fn parts_of_other_names_and_types_do_not_count_in_full() {
        check("where is fogLights used", &[]);
        check("where is the fog used", &[0]);
        let mut catalog = catalog();
        let card = Card { name: "feedback_docs_audit", ..Card::default() };
        catalog.put(TopicId(9), &card, "Read the pages before a release.");
        catalog.settle();
        let ask = CatalogQuery { question: "the feedback", limit: 5, ..CatalogQuery::default() };
        assert_eq!(select(&catalog, &ask), []);
    }

    /// Every word of an explicit question counts, also in a large directory with many topics about some of the words.
    #[test]
    fn the_topic_with_all_words_is_first_among_thousands() {
        let mut catalog = Catalog::default();
        for id in 0..3_000_u32 {
            let description = match id {
                1_234 => "update the task with its paths and files".to_owned(),
                _ => format!("update a task, case {id}"),
            };
            let body = "paths of files, of the task, and paths again";
            let name = format!("task-{id}");
            catalog.put(
                TopicId(id),
                &Card { name: &name, description: &description, ..Card::default() },
                body,
            );
        }
        catalog.settle();
        let question = "files paths update task";
        let ask = CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
        assert_eq!(nearest(&catalog, &ask, &[])[0].id, TopicId(1_234));
    }

    #[test]
    fn a_pasted_log_is_about_what_is_said_around_it() {
        let log = "at com.acme.Frob.nicate(Frob.java:17)\n".repeat(20_000);
        check(&log, &[]);
        check(&format!("the fog distance is wrong again\n{log}"), &[0]);
        check(&format!("{log}\nso what about the default fog distance?"), &[0]);
    }

    #[test]
    fn other_languages_have_their_own_words() {
        let mut catalog = catalog();
        let pages = Card {
            name: "login",
            title: "登录页面",
            description: "登录失败时显示错误信息",
            ..Card::default()
        };
        catalog.put(TopicId(10), &pages, "错误信息来自服务器。");
        let glass = Card {
            name: "scheiben",
            description: "Warum Scheiben verschwinden",
            ..Card::default()
        };
        catalog.put(TopicId(11), &glass, "Glas wird zweimal gezeichnet.");
        catalog.settle();
        let ids = |question| -> Vec<u32> {
            let ask = CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
            select(&catalog, &ask).iter().map(|pick| pick.id.0).collect()
        };
        assert_eq!(ids("修复登录页面的错误"), [10]);
        assert_eq!(ids("今天天气怎么样"), [0; 0]);
        assert_eq!(ids("die scheibe verschwindet"), [11]);
        assert_eq!(ids("was kostet ein Eis?"), [0; 0]);
    }

    #[test]
    fn what_was_shown_or_is_known_is_left_out() {
        let catalog = catalog();
        let ids = |recent_tools: &[String], exclude: &[TopicId], limit| -> Vec<u32> {
            let ask = CatalogQuery {
                question: "flags of grep on the mount",
                recent_tools,
                exclude,
                limit,
            };
            select(&catalog, &ask).iter().map(|pick| pick.id.0).collect()
        };
        assert_eq!(ids(&[], &[], 5), [2, 3]);
        assert_eq!(ids(&["Grep".to_owned()], &[], 5), [3], "warnings stay");
        assert_eq!(ids(&[], &[TopicId(2)], 5), [3]);
        assert_eq!(ids(&[], &[], 1), [2]);
        assert_eq!(ids(&[], &[], 0), [0; 0]);
        let tools = ["Grep".to_owned()];
        assert!(
            is_manual(&catalog, TopicId(2), &tools) && !is_manual(&catalog, TopicId(3), &tools)
        );
    }

    #[test]
    fn each_pick_tells_why() {
        let ask =
            CatalogQuery { question: "default fog distance", limit: 5, ..CatalogQuery::default() };
        let picks = select(&catalog(), &ask);
        let why = &picks[0].why;
        let fog = why.terms.iter().find(|(term, _)| term == "fog").unwrap();
        assert_eq!(fog.1, [TopicField::Name, TopicField::Body]);
        assert!((0.0..=1.0).contains(&why.score), "{why:?}");
        assert_eq!(super::why(&catalog(), ask.question, TopicId(0)).as_ref(), Some(why));
        let other = super::why(&catalog(), ask.question, TopicId(1)).unwrap();
        assert!(other.terms.is_empty() && other.score == 0.0, "{other:?}");
        assert_eq!(super::why(&catalog(), ask.question, TopicId(99)), None);
    }

    #[test]
    fn a_topic_is_found_by_the_questions_that_it_answers() {
        let mut catalog = catalog();
        let questions = ["what is the name of the box in the cellar?".to_owned()];
        let host = Card { name: "backup-host", questions: &questions, ..Card::default() };
        catalog.put(TopicId(10), &host, "It is `brass-owl`.");
        // Asked in the words of its own description, a topic comes first.
        let words = ["how far does one see?".to_owned()];
        let lens = Card { name: "lens", questions: &words, ..Card::default() };
        catalog.put(TopicId(11), &lens, "It is made of glass.");
        catalog.settle();
        let find = |question| -> Vec<u32> {
            let ask = CatalogQuery { question, limit: 5, ..CatalogQuery::default() };
            let (injected, asked) = (select(&catalog, &ask), nearest(&catalog, &ask, &[]));
            assert_eq!(injected[0].id, asked[0].id, "{question}");
            asked.iter().map(|pick| pick.id.0).collect()
        };
        assert_eq!(find("which box is in the cellar")[0], 10);
        assert_eq!(find("how far one sees")[..2], [0, 11]);
    }

    /// Common words alone add no topic, but they do add to the scores of topics that other words have found.
    #[test]
    fn lists_of_common_words_are_not_walked_for_new_topics() {
        let mut catalog = Catalog::default();
        for id in 0..2_000 {
            let name = format!("n{id}");
            let body =
                if id == 77 { "the frobnicator and its shared lamp" } else { "a shared lamp" };
            catalog.put(TopicId(id), &Card { name: &name, ..Card::default() }, body);
        }
        catalog.settle();
        let words = words(&catalog, "shared lamp frobnicator", Reading::Doubtful);
        assert_eq!(candidates(&catalog, &words, could_fit), [77]);
        let of_it = matches(&catalog, &words, 77);
        assert_eq!(of_it.len(), 3);
    }

    #[test]
    fn ranked_leaves_the_choice_to_others() {
        let ask = CatalogQuery {
            question: "connections that are slow",
            limit: 10,
            ..CatalogQuery::default()
        };
        assert_eq!(ranked(&catalog(), &ask), [TopicId(4), TopicId(3)]);
    }
}
