//! The hostile texts. Each is made of numbered pieces, so that it can have any size and its parts can differ.

/// One kind of hostile text.
#[derive(Clone, Copy, Debug)]
pub struct HostileText {
    pub name: &'static str,
    /// Written once, before the first piece.
    head: &'static str,
    /// The piece with this number.
    piece: fn(usize) -> String,
}

impl HostileText {
    /// Returns a text of this kind with about `bytes` bytes.
    pub fn of_size(&self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 64);
        text.push_str(self.head);
        for number in 0.. {
            if text.len() >= bytes {
                break;
            }
            text.push_str(&(self.piece)(number));
        }
        text
    }
}

const fn of(name: &'static str, piece: fn(usize) -> String) -> HostileText {
    HostileText { name, head: "", piece }
}

/// A text in front matter that is never closed.
const fn front(name: &'static str, piece: fn(usize) -> String) -> HostileText {
    HostileText { name, head: "---\n", piece }
}

macro_rules! same {
    ($name:literal, $piece:literal) => {
        of($name, |_| $piece.to_owned())
    };
}

/// All kinds, in no particular order.
pub const HOSTILE_TEXTS: &[HostileText] = &[
    // Sentences, words and characters.
    of("words without a full stop", |n| format!("word{n} ")),
    same!("the same word", "always "),
    of("short sentences", |n| format!("Always use tool{n}. ")),
    of("short lines", |n| format!("line {n}\n")),
    of("questions", |n| format!("why is{n}? ")),
    same!("one letter", "a"),
    same!("one letter per line", "a\n"),
    same!("spaces", " "),
    same!("blank lines", "\n"),
    same!("carriage returns", "\r"),
    same!("numbers without spaces", "1234567890"),
    of("numbers", |n| format!("{n} ")),
    same!("full stops", "."),
    same!("CJK without spaces", "漢字"),
    same!("letters that grow in lower case", "İ"),
    same!("zero-width characters", "a\u{200b}"),
    same!("hidden tag characters", "\u{e0041}"),
    same!("direction marks", "a\u{200e} "),
    same!("directions that never end", "\u{202a}a"),
    same!("combining marks", "a\u{301}\u{302}"),
    same!("one letter with many marks", "\u{301}"),
    same!("backslashes", "\\"),
    of("base64", blob),
    of("names with dots", |n| format!("a{n}.")),
    of("paths", |n| format!("src/dir{n}/")),
    of("words with joints", |n| format!("Foo{n}_bar-")),
    // Brackets, quotes and Markdown that never ends.
    same!("opening brackets", "["),
    same!("opening braces", "{\"a\":"),
    same!("nested lists of JSON", "[{\"a\":["),
    same!("opening parentheses", "("),
    same!("unclosed quotes", "\"a “b „c «d "),
    same!("single quotes", "'a "),
    same!("backticks", "a` "),
    of("runs of backticks", |n| format!("{} ", "`".repeat(n % 97 + 1))),
    same!("unclosed fences", "```\na\n~~~\n"),
    same!("unclosed links", "[a]("),
    same!("unclosed wiki links", "[[a "),
    of("links", |n| format!("[t{n}](t{n}.md)")),
    of("list of links", |n| format!("- [t{n}](t{n}.md): topic {n}\n")),
    same!("unclosed comments", "<!-- a\n"),
    of("headings", |n| format!("# Heading {n}\n")),
    same!("the same heading", "# Compact instructions\n"),
    of("list", |n| format!("- item {n}\n")),
    of("ever deeper list", |n| format!("{}- item\n", " ".repeat(n % 200))),
    same!("quotations", "> > "),
    same!("table", "| a | b | "),
    // Tags.
    of("unique tags", |n| format!("<t{n}>\n")),
    of("unique tags, closed", |n| format!("<t{n}>\nx\n</t{n}>\n")),
    same!("tags that are never closed", "<note>\n"),
    same!("reminders", "<system-reminder>\n"),
    same!("reminders, closed", "<system-reminder>a</system-reminder>\nb\n"),
    same!("less-than signs", "<"),
    same!("summaries", "<summary>\n"),
    same!("summary ends", "</summary>\n<analysis>"),
    // Things that a reader looks for.
    same!("dates", "on 2026-11-22, yesterday, next Friday, 3 days ago. "),
    same!("day words", "last next "),
    same!("addresses", "http://a"),
    of("different addresses", |n| format!("https://host{n}.test/a?b={n} ")),
    of("mail addresses", |n| format!("user{n}@host{n}.test ")),
    of("imports", |n| format!("@docs/a{n}.md ")),
    same!("the same claim", "Use npm for installs. "),
    of("claims about one thing", |n| format!("Use npm for job{n}. ")),
    of("claims of many days", |n| {
        format!(
            "Use npm for `job{n}` now.\n\nAlso learned in session s (embedded, 20{:02}-05-04T10:00:00Z):\n\n",
            n % 90 + 10
        )
    }),
    of("orders after a request", |n| match n {
        0 => "Remember these rules:\n".to_owned(),
        n => format!("- use tool{n} for job{n}\n"),
    }),
    same!("names of files", ".md"),
    same!("links with one end", "[a](a [[b [c]("),
    of("links with a far end", |n| match n % 400 {
        399 => "\")]]".to_owned(),
        _ => "[a]([[".to_owned(),
    }),
    of("keys", |n| format!("api_key = 'q8Zt2LmXp0VrKt5Wb3NcJ7{n:06}'\n")),
    of("names of secrets with numbers", |n| format!("password=a{n} token=b{n} ")),
    same!("requests to remember", "remember remember that, please "),
    same!("conditions before an order", "when if a, always please, "),
    same!("almost an order", "please please also and but never ever "),
    same!("a speaker on each line", "user: a\n"),
    same!("almost a key", "sk-ant-api03-AAAA ghp_AAAA AKIAAAAA xoxb-1-1 "),
    same!("names of secrets", "password token secret api_key "),
    same!("assigned names of secrets", "password=token=secret=api_key="),
    same!("placeholders of secrets", "password: changeme1 "),
    same!("private keys without an end", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n"),
    same!("starts of a signed token", "eyJhbGciOiJIUzI1NiJ9.eyJ"),
    same!("addresses with a user", "postgres://user:"),
    same!("parts between dots", ".abcdef"),
    same!("percent escapes", "%41%2"),
    same!("unicode escapes", "\\u0041\\u00"),
    // Lines of programs.
    same!("terminal escapes", "\u{1b}[31m\u{1b}]0;a"),
    of("log", |n| format!("2026-11-22T15:37:01Z ERROR worker {n} refused /var/lib/{n}.db\n")),
    of("diff", |n| format!("@@ -{n},1 +{n},1 @@\n-a{n}\n+b{n}\n")),
    same!("events", "data: a\nevent: b\n\n"),
    same!("data of one event", "data: a\n"),
    of("lines of JSON", |n| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"parentUuid\":\"u{}\",\"message\":{{\"role\":\"user\",\"content\":\"a\"}}}}\n",
            n / 2
        )
    }),
    front("front matter", |n| format!("key{n}: value\n")),
    front("front matter with one key", |_| "paths: [a,".to_owned()),
    front("front matter with a list", |n| format!("- a{n}\n")),
    front("front matter with references", |n| format!("a{n}: &a{n} [*a{}]\n", n.saturating_sub(1))),
    front("front matter with patterns", |n| format!("paths: '{{a,{{b,**/*{n}'\n")),
];

/// A line of a base64 block; the digits differ from line to line.
fn blob(number: usize) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = number as u64 + 1;
    let digit = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(DIGITS[(state >> 58) as usize])
    };
    (0..76).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_text_has_its_size_and_a_name_of_its_own() {
        let mut names = HashSet::new();
        for hostile in HOSTILE_TEXTS {
            assert!(names.insert(hostile.name), "{}", hostile.name);
            for bytes in [1, 1_000] {
                let made = hostile.of_size(bytes).len();
                assert!((bytes..bytes + 256).contains(&made), "{}: {made}", hostile.name);
            }
        }
    }
}
