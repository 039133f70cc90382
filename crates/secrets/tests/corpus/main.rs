//! Tests that every kind of key is found in every hiding place, and that harmless text passes.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod generate;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bethink_invisible_chars::find as invisible;
use bethink_secrets::{ScannedText, gate, scan};
use generate::{KINDS, Random, key, memory, written};

const EACH: usize = 20;
const PLACES: usize = 8;

/// Returns a topic that contains a key in the given hiding place.
fn hide(key: &str, place: usize, random: &mut Random) -> (String, String) {
    let body = "---\nname: ci\ndescription: how we deploy\n---\n\nDeploys go through CI.\n";
    let insert = |at: usize, what: &str| format!("{}{what}{}", &key[..at], &key[at..]);
    let inside = 1 + random.below(key.len() - 1);
    let text = match place {
        0 => return (format!("notes-{key}"), body.to_owned()),
        1 => format!("---\nname: ci\ndescription: use {key} here\n---\n\nText.\n"),
        2 => format!("{body}\nThe key is {key}, keep it.\n"),
        3 => format!("{body}\ndata: {}\n", STANDARD.encode(format!("config: {key}\n"))),
        4 => {
            let unseen = ["\u{200b}", "\u{2060}", "\u{ad}", "\u{e0041}", "\u{202d}", "\u{fe0f}"];
            let unseen = random.one(&unseen);
            format!("{body}\nThe key is {} now.\n", insert(inside, unseen))
        }
        5 => format!(
            "{body}\nThe key is {}\nand more.\n",
            insert(inside, random.one(&["\n", "\n    ", "\\\n", "\r\n> "]))
        ),
        6 => {
            // As `base64` prints it: in lines of 76 characters.
            let encoded =
                STANDARD.encode(format!("a longer file with settings\nfirst = 1\n{key}\n"));
            let lines: Vec<&str> = encoded
                .as_bytes()
                .chunks(76)
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect();
            format!("{body}\n```\n{}\n```\n", lines.join("\n"))
        }
        _ => {
            let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("{body}\ndump {hex}\n")
        }
    };
    ("ci".to_owned(), text)
}

#[test]
fn every_kind_is_found_in_every_place() {
    let mut random = Random(5);
    let mut missed = Vec::new();
    for (rule, form) in KINDS {
        for (place, _) in (0..PLACES).flat_map(|place| (0..EACH).map(move |n| (place, n))) {
            let key = key(form, &mut random);
            let (name, text) = hide(&key, place, &mut random);
            let found = scan(&ScannedText { name: &name, text: &text });
            if !found.iter().any(|finding| finding.rule == *rule) {
                missed.push(format!("{rule} in place {place}: {name} {text:?}: {found:?}"));
            }
            assert!(!format!("{found:?}").contains(&key), "a finding contains its value");
        }
    }
    assert!(KINDS.len() >= 30);
    assert!(
        missed.is_empty(),
        "{} missed, such as {:#?}",
        missed.len(),
        missed.iter().step_by(missed.len() / 5 + 1).collect::<Vec<_>>()
    );
}

#[test]
fn honest_memories_pass() {
    let mut random = Random(8);
    let blocked: Vec<String> = (0..3_000)
        .filter_map(|_| {
            let (name, text) = memory(&mut random);
            gate(&name, &text).err().map(|refusal| format!("{refusal}\n{text}"))
        })
        .collect();
    assert!(blocked.len() * 1000 <= 3_000 * 5, "{} blocked, such as {}", blocked.len(), blocked[0]);
}

#[test]
fn writing_that_needs_invisible_characters_passes() {
    let mut random = Random(13);
    for _ in 0..3_000 {
        let text = written(&mut random);
        assert_eq!(invisible(&text), [], "{text}");
    }
}

#[test]
fn what_hides_is_seen_wherever_it_stands() {
    let hidden = ('\u{e0000}'..='\u{e007f}')
        .chain('\u{202a}'..='\u{202e}')
        .chain('\u{2066}'..='\u{2069}')
        .chain(['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{ad}', '\u{34f}'])
        .chain(['\u{2028}', '\u{2061}', '\u{3164}', '\u{ffa0}', '\u{1b}', '\u{9b}', '\u{200e}'])
        .chain('\u{fe00}'..='\u{fe0f}')
        .chain('\u{e0100}'..='\u{e01ef}');
    for c in hidden {
        for text in [
            format!("re{c}ad"),
            format!("a {c}word"),
            format!("src/ma{c}in.rs"),
            format!("x\n{c}y"),
        ] {
            assert_eq!(invisible(&text).len(), 1, "{text:?}");
        }
    }
    assert_eq!(invisible("❤\u{fe0f}\u{fe0f}").len(), 1, "a run of selectors");
    assert_eq!(invisible("می\u{200c}\u{200c}خواهم").len(), 1, "a run of joiners");
    assert_eq!(invisible("\u{feff}text").len(), 0, "a file's mark");
}

proptest::proptest! {
    #[test]
    fn nothing_panics(name in ".{0,60}", text in "(.|\n){0,400}") {
        let _ = gate(&name, &text);
    }
}
