use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

mod texts;

/// Formats figures as `input/output/limit`, with `-` for missing ones, or as `+n` for `over`.
fn check(status: u16, kind: &str, code: &str, message: &str, class: ErrorClass, figures: &str) {
    let none = |text: &'static str, given: &str| (given != text).then(|| given.to_owned());
    let (kind, code) = (none("", kind), none("", code));
    let status = (status > 0).then_some(status);
    let said = ProviderMessage { status, kind: kind.as_deref(), code: code.as_deref(), message };
    let got = classify(&said);
    let shown = |figure: Option<u64>| figure.map_or("-".to_owned(), |n| n.to_string());
    let mut told = format!("{}/{}/{}", shown(got.1.input), shown(got.1.output), shown(got.1.limit));
    if let Some(over) = got.1.over {
        told = format!("+{over}");
    }
    let expected = if figures.is_empty() { "-/-/-" } else { figures };
    assert_eq!((got.0, told.as_str()), (class, expected), "{said:?}");
}

#[test]
fn a_status_decides_only_where_nothing_else_is_said() {
    use ErrorClass::*;
    for (status, class) in [
        (400, Invalid),
        (401, Auth),
        (403, Auth),
        (404, NotFound),
        (408, TimedOut),
        (418, Unknown),
        (302, Unknown),
        (200, Unknown),
        (429, RateLimited),
        (502, Server),
        (503, Overloaded),
        (522, Server),
        (529, Overloaded),
    ] {
        check(status, "", "", "what is this", class, "");
        check(status, "", "", "prompt is too long", Overflow, "");
    }
    check(0, "", "", "", Unknown, "");
    check(0, "new_kind", "new_code", "words", Unknown, "");
}

#[test]
fn numbers_are_whole_bounded_and_may_be_separated() {
    use ErrorClass::Overflow;
    let says = |input: &str, figures: &str| {
        let message = format!("prompt is too long: {input} tokens > 200_000 maximum");
        check(400, "", "", &message, Overflow, figures);
    };
    says("0", "0/-/200000");
    says("18446744073709551615", "18446744073709551615/-/200000");
    says("18446744073709551616", "-/-/200000");
    says("99999999999999999999999999999999", "-/-/200000");
    says("12,345,678", "12345678/-/200000");
    // Without valid figures, the words still decide.
    says("-5", "");
    says("1.5e9", "");
    says("1,23", "");
    says("many", "");
}

#[test]
fn other_words_are_not_taken_for_codes() {
    check(0, "", "", "see not_found_error_pages for more", ErrorClass::Unknown, "");
    check(0, "", "", "{\"error\":{\"type\":\"not_found_error\"}}", ErrorClass::NotFound, "");
    check(0, "", "", "an internal matter, unavailable", ErrorClass::Unknown, "");
}

#[test]
fn the_table_is_written_as_texts_are_read_and_no_row_is_hidden() {
    let rows = include_str!("errors.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    assert_eq!(rows.count(), TABLE.len(), "every row can be read");
    let mut seen = HashSet::new();
    for row in TABLE.iter() {
        match row.sign {
            Sign::Text(pattern) => {
                assert_eq!(plain(pattern), pattern);
                assert!(!pattern.starts_with('{'), "{pattern}");
                assert!(seen.insert(pattern), "{pattern} stands twice");
                let message = filled(pattern);
                let (class, _) =
                    classify(&ProviderMessage { message: &message, ..ProviderMessage::default() });
                assert_eq!(class, row.class, "{message}");
            }
            Sign::Code(code) => {
                assert_eq!(code, code.to_ascii_lowercase());
                assert!(seen.insert(code), "{code} stands twice");
                let (class, _) =
                    classify(&ProviderMessage { code: Some(code), ..ProviderMessage::default() });
                assert_eq!(class, row.class, "{code}");
            }
            Sign::Status(from, to) => assert!(from <= to),
        }
    }
}

/// Makes a message from a pattern: the limit is 9, every other number 8.
fn filled(pattern: &str) -> String {
    let holes = ["{input}", "{output}", "{over}", "{n}"];
    holes.iter().fold(pattern.replace("{limit}", "9"), |text, hole| text.replace(hole, "8"))
}

#[test]
fn only_the_beginning_of_a_text_is_read() {
    let message = format!("{}prompt is too long", "x".repeat(MAX_READ));
    check(0, "", "", &message, ErrorClass::Unknown, "");
}

proptest! {
    #[test]
    fn any_text_has_a_class(
        message in ".{0,400}",
        kind in proptest::option::of(".{0,20}"),
        status in proptest::option::of(any::<u16>()),
    ) {
        let said = ProviderMessage { status, kind: kind.as_deref(), code: None, message: &message };
        prop_assert_eq!(classify(&said), classify(&said));
    }

    /// Pieces of real texts, split and joined anywhere.
    #[test]
    fn pieces_of_known_texts_never_panic(
        pieces in proptest::collection::vec((0..TABLE.len(), 0usize..80, "[0-9,_. ]{0,24}"), 0..8),
    ) {
        let mut message = String::new();
        for (row, cut, digits) in pieces {
            if let Sign::Text(pattern) = TABLE[row].sign {
                message.extend(pattern.chars().skip(cut));
            }
            message.push_str(&digits);
        }
        let (class, figures) = classify(&ProviderMessage { message: &message, ..ProviderMessage::default() });
        prop_assert!(ErrorClass::ALL.contains(&class));
        if let (Some(input), Some(limit)) = (figures.input, figures.limit) {
            prop_assert!(class != ErrorClass::OutputOverflow || input < limit);
        }
    }

    #[test]
    fn a_number_is_what_its_digits_say(n in any::<u64>(), tail in "[ a-z.,;)]{0,5}") {
        let text = format!("{n}{tail}");
        prop_assert_eq!(number(&text), Some((Some(n), tail.as_str())));
    }
}
