//! Random drafts and edits: a person's lines are never lost, removed rows never return, and headings keep their
//! order.

use bethink_session_memory::{NotesDraft, Template, WrittenNotes};
use proptest::prelude::*;

use crate::support::{draft, merge};

/// Rows by section, key and wording.
fn drafts() -> impl Strategy<Value = Vec<(usize, String, String)>> {
    prop::collection::vec((0..10_usize, "[a-f]", "[a-z]{1,4}"), 0..24).prop_map(|rows| {
        let mut seen = std::collections::HashSet::new();
        let fresh = rows.into_iter().filter(|(at, key, _)| seen.insert((*at, key.clone())));
        // The key is in the line, so that a row can be found in the file whatever its wording.
        fresh.map(|(at, key, word)| (at, key.clone(), format!("row s{at}{key} {word}"))).collect()
    })
}

fn made(rows: &[(usize, String, String)]) -> NotesDraft {
    let rows: Vec<_> =
        rows.iter().map(|(at, key, text)| (*at, key.as_str(), text.as_str())).collect();
    draft(&rows)
}

/// A change that a person makes to a line of the file.
#[derive(Clone, Debug)]
enum Hand {
    Remove(usize),
    Change(usize, String),
    Add(usize, String),
}

fn hands() -> impl Strategy<Value = Vec<Hand>> {
    let text = "[A-Z]{3,9}( [A-Z#>`*-]{1,6})?";
    let one = prop_oneof![
        (0..80_usize).prop_map(Hand::Remove),
        (0..80_usize, text).prop_map(|(at, text)| Hand::Change(at, text)),
        (0..80_usize, text).prop_map(|(at, text)| Hand::Add(at, text)),
    ];
    prop::collection::vec(one, 0..12)
}

/// Returns the edited file, and the person's lines in it. Headings are not changed here.
fn edited(text: &str, hands: &[Hand]) -> (String, Vec<String>) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut own = Vec::new();
    for hand in hands {
        let (Hand::Remove(at) | Hand::Change(at, _) | Hand::Add(at, _)) = hand;
        let at = at % lines.len();
        if lines[at].starts_with('#') && !matches!(hand, Hand::Add(..)) {
            continue;
        }
        match hand {
            Hand::Remove(_) => drop(lines.remove(at)),
            Hand::Change(_, text) => {
                own.push(text.clone());
                lines[at].clone_from(text);
            }
            Hand::Add(_, text) => {
                own.push(text.clone());
                lines.insert(at + 1, text.clone());
            }
        }
    }
    own.retain(|line| lines.contains(line));
    (lines.join("\n"), own)
}

/// Returns the rows in a file, by section and key.
fn rows_in(text: &str) -> Vec<String> {
    let words = text.lines().filter_map(|line| line.strip_prefix("- row ")?.split(' ').next());
    words.map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_persons_work_is_respected(
        first in drafts(), hands_once in hands(), second in drafts(), hands_twice in hands(), third in drafts(),
    ) {
        let one = merge(made(&first), &WrittenNotes::default(), None);
        let (file, own) = edited(&one.text, &hands_once);
        let two = merge(made(&second), &one.written, Some(&file));
        let (file_again, mut own_again) = edited(&two.text, &hands_twice);
        let three = merge(made(&third), &two.written, Some(&file_again));
        for line in &own {
            prop_assert!(two.text.lines().any(|l| l == line), "{line:?} of {file} lost in {}", two.text);
        }
        own_again.extend(own.iter().filter(|l| file_again.lines().any(|f| f == *l)).cloned());
        for line in &own_again {
            prop_assert!(three.text.lines().any(|l| l == line), "{line:?} lost in {}", three.text);
        }
        // A row that was removed from the file is in no later file.
        let (written, left) = (rows_in(&one.text), rows_in(&file));
        for row in written.iter().filter(|row| !left.contains(row)) {
            prop_assert!(!rows_in(&two.text).contains(row), "{row} came back in {}", two.text);
            prop_assert!(!rows_in(&three.text).contains(row), "{row} came back in {}", three.text);
        }
        for text in [&two.text, &three.text] {
            let template = Template::default();
            let mut wanted = template.sections.iter().map(|s| format!("# {}", s.heading)).peekable();
            for line in text.lines() {
                wanted.next_if(|heading| heading == line);
            }
            prop_assert_eq!(wanted.next(), None, "headings out of order in {}", text);
        }
    }

    #[test]
    fn without_a_hand_the_file_is_what_would_be_written_first(first in drafts(), second in drafts()) {
        let one = merge(made(&first), &WrittenNotes::default(), None);
        let two = merge(made(&second), &one.written, Some(&one.text));
        let fresh = merge(made(&second), &WrittenNotes::default(), None);
        prop_assert_eq!(two.text, fresh.text);
        prop_assert!(two.written.removed.is_empty());
    }

    #[test]
    fn any_text_is_survived(file in any::<String>(), rows in drafts()) {
        let merged = merge(made(&rows), &WrittenNotes::default(), Some(&file));
        let again = merge(made(&rows), &merged.written, Some(&merged.text));
        prop_assert_eq!(&again.text, &merged.text, "another merge changes nothing");
        for word in file.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            prop_assert!(merged.text.contains(word), "{word:?} lost");
        }
    }
}
