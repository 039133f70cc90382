//! The second phase: what sessions taught that no topic holds.

use std::collections::BTreeSet;

use bethink_memdir::{Name, header};

use crate::bench::Bench;
use crate::consolidate::meant;
use crate::directory::Taught;
use crate::limits::SAME_WORDS;
use crate::plan::Phase;
use crate::text::said;
use crate::words::{content, likeness, names, normal};

/// Topics of one name are counted up to here; more of them are no accident.
const MOST_OF_A_NAME: usize = 100;

pub(crate) fn gather(bench: &mut Bench, taught: &[Taught]) {
    for one in taught {
        let body = header::read(&one.text).body;
        if said(body).is_empty() || is_known(bench, body) {
            continue;
        }
        let Some(name) = free(bench, &one.name) else { continue };
        bench.write(
            Phase::Gather,
            &name,
            one.text.clone(),
            "a new topic",
            "a session taught it, and no topic holds it",
        );
    }
}

fn is_known(bench: &Bench, body: &str) -> bool {
    let mine = Meant::of(body);
    bench.pages().values().any(|page| Meant::of(page.body()).holds(&mine))
}

/// What a body says, without what the daemon writes around it.
struct Meant {
    sentences: BTreeSet<String>,
    words: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Meant {
    fn of(body: &str) -> Self {
        let meant = meant(body);
        let all = meant.join("\n");
        let sentences = meant.into_iter().map(normal).collect();
        Self { sentences, words: content(&all), names: names(&all) }
    }

    fn holds(&self, other: &Self) -> bool {
        let alike = likeness(&self.words, &other.words) >= SAME_WORDS && self.names == other.names;
        other.sentences.is_subset(&self.sentences) || alike
    }
}

/// The name, or the first of `name-2`, `name-3`, … that nothing has.
fn free(bench: &Bench, name: &Name) -> Option<Name> {
    let is_free = |name: &Name| !bench.pages().contains_key(name) && !bench.unread.contains(name);
    let numbered = (2..MOST_OF_A_NAME).filter_map(|n| Name::parse(&format!("{name}-{n}")).ok());
    std::iter::once(name.clone()).chain(numbered).find(is_free)
}
