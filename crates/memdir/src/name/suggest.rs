//! Makes a name from a title or the beginning of a text.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::Name;
use crate::header::Header;

/// Maximum number of words in a name that is made from a text.
const MOST_WORDS: usize = 8;
const MOST_CHARS: usize = 60;
/// The name if no word of the text can be used.
const PLAIN: &str = "note";

impl Name {
    /// Makes a name from words: `Köln: "fog" & rain` → `koln-fog-rain`. Latin letters lose their diacritics, which not
    /// every keyboard has; letters of other scripts stay. The result is always a valid name, but the name may be taken.
    pub fn suggest(words: &str) -> Name {
        let slug = slug(words, Letters::Folded);
        let own = if slug.is_empty() { PLAIN.to_owned() } else { slug };
        // A topic must not have the name of the index or a device.
        let parsed = Name::parse(&own).or_else(|_| Name::parse(&format!("{PLAIN}-{own}")));
        parsed.unwrap_or_else(|_| Name(PLAIN.to_owned()))
    }

    /// Returns a title for a topic whose name is made from words, if the name lost letters with diacritics: `größe` →
    /// `Größe`.
    pub fn title_with_letters(words: &str) -> Option<String> {
        let (kept, folded) = (slug(words, Letters::Kept), slug(words, Letters::Folded));
        (kept != folded && !kept.is_empty()).then(|| in_words(&kept))
    }

    /// Returns a title made from words.
    pub fn title_of(words: &str) -> String {
        match slug(words, Letters::Kept) {
            slug if slug.is_empty() => in_words(PLAIN),
            slug => in_words(&slug),
        }
    }

    /// Returns the topic's title from its header, or else its name in words.
    pub fn titled(&self, header: &Header) -> String {
        match &header.name {
            Some(name) if name != self.as_str() => name.clone(),
            _ => in_words(self.as_str()),
        }
    }

    /// Returns the name with a number, for when the name is taken: `fog-2`.
    pub fn numbered(&self, number: usize) -> Name {
        let name = Name::parse(&format!("{}-{number}", self.0));
        name.unwrap_or_else(|_| Name(format!("{PLAIN}-{number}")))
    }
}

/// Turns a name into words: `plans/far-fog` → `Far fog`.
fn in_words(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or_default();
    let words = last.replace(['-', '_'], " ");
    let mut chars = words.trim().chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => name.to_owned(),
    }
}

/// What happens to Latin letters with diacritics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    Kept,
    Folded,
}

fn slug(text: &str, letters: Letters) -> String {
    let mut out = String::new();
    for word in fold(text, letters).split('-').filter(|word| !word.is_empty()).take(MOST_WORDS) {
        if !out.is_empty() && out.chars().count() + word.chars().count() >= MOST_CHARS {
            break;
        }
        if !out.is_empty() {
            out.push('-');
        }
        out.extend(word.chars().take(MOST_CHARS));
    }
    cut(&out)
}

/// Limits a path component to the maximum number of bytes.
fn cut(slug: &str) -> String {
    let room = super::MOST_BYTES - PLAIN.len() - 8; // for `note-` or a number
    slug[..slug.floor_char_boundary(room)].trim_matches('-').to_owned()
}

/// Converts to lower case, with `-` between words.
fn fold(text: &str, letters: Letters) -> String {
    let mut out = String::new();
    let mut latin = false;
    for c in text.nfkd() {
        if is_combining_mark(c) {
            if !latin || letters == Letters::Kept {
                out.push(c);
            }
            continue;
        }
        latin = c.is_ascii_alphabetic();
        match spelled(c).filter(|_| letters == Letters::Folded) {
            Some(letters) => out.push_str(letters),
            // An apostrophe is part of a word.
            None if matches!(c, '\'' | '’') => {}
            None if c.is_alphanumeric() => out.extend(c.to_lowercase()),
            None => out.push('-'),
        }
    }
    out.nfc().collect()
}

/// Spells Latin letters that do not decompose into a letter and a diacritic.
fn spelled(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'þ' | 'Þ' => "th",
        'ı' => "i",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_title_becomes_a_name() {
        let check = |title: &str, name: &str| assert_eq!(Name::suggest(title).as_str(), name);
        check("The user prefers tabs", "the-user-prefers-tabs");
        check("Köln: \"fog\" & rain", "koln-fog-rain");
        check("don't mock the database", "dont-mock-the-database");
        check("Straße, Øre, Łódź, ﬁle", "strasse-ore-lodz-file");
        check("use `cargo nextest` (0.9.x)!", "use-cargo-nextest-0-9-x");
        check("東京のサーバー", "東京のサーバー");
        check("हिन्दी में", "हिन्दी-में");
        check("../../etc/passwd", "etc-passwd");
        check("MEMORY", "note-memory");
        check("", "note");
        check("🚀🚀", "note");
        check(
            "one two three four five six seven eight nine",
            "one-two-three-four-five-six-seven-eight",
        );
        check(&"a".repeat(500), &"a".repeat(60));
        assert_eq!(Name::suggest("fog").numbered(2).as_str(), "fog-2");
    }

    #[test]
    fn a_name_becomes_a_title() {
        let title = |name: &str, header: Option<&str>| {
            let header = Header { name: header.map(str::to_owned), ..Header::default() };
            Name::parse(name).unwrap().titled(&header)
        };
        assert_eq!(title("far-fog", None), "Far fog");
        assert_eq!(title("plans/user_role", Some("plans/user_role")), "User role");
        assert_eq!(title("fog", Some("The Fog")), "The Fog");
        assert_eq!(title("東京", None), "東京");
    }

    #[test]
    fn a_title_keeps_the_letters_that_a_name_loses() {
        let check = |words: &str, expect: Option<&str>| {
            assert_eq!(Name::title_with_letters(words).as_deref(), expect, "{words}");
        };
        check("die Oberfläche bleibt grün", Some("Die oberfläche bleibt grün"));
        check("Straße nach Łódź", Some("Straße nach łódź"));
        check("déploie le vendredi!", Some("Déploie le vendredi"));
        check("use tabs", None);
        check("東京のサーバー", None);
        check("", None);
        assert_eq!(
            Name::title_of("antworte auf Spanisch, für immer"),
            "Antworte auf spanisch für immer"
        );
        assert_eq!(Name::title_of("!"), "Note");
    }

    proptest! {
        #[test]
        fn whatever_is_said_has_a_name(text in "\\PC{0,200}|[\\x00-\\xff]{0,50}") {
            let name = Name::suggest(&text);
            prop_assert_eq!(Name::parse(name.as_str()), Ok(name.clone()));
            prop_assert_eq!(Name::parse(name.numbered(17).as_str()), Ok(name.numbered(17)));
        }
    }
}
