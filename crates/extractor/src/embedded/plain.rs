//! Normalizes a sentence for the rules.

use super::table::TABLE;

/// Placeholder for a quotation or code, which is not the user's own statement.
pub const QUOTED: char = '□';
/// Placeholder for a URL.
pub const LINK: char = '◊';

/// Normalizes a sentence: lower case, plain apostrophes and spaces, placeholders for quotations, code and links, and no
/// filler words at the beginning.
pub fn plain(sentence: &str) -> String {
    let masked = masked(sentence);
    let words: Vec<&str> = masked.split_whitespace().collect();
    let mut words = words.as_slice();
    while let Some(count) = filler(words) {
        words = words.get(count..).unwrap_or_default();
    }
    words.join(" ")
}

fn masked(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut rest = sentence;
    // Opening marks that nothing closes in the rest of the sentence.
    let mut unclosed: Vec<char> = Vec::new();
    while let Some(c) = rest.chars().next() {
        if let Some(length) = (c == 'h').then(|| link(rest)).flatten() {
            out.push(LINK);
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let inner = rest.get(c.len_utf8()..).unwrap_or_default();
        let at_word = out.chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        let closing: &[char] = match c {
            '`' => &['`'],
            '"' => &['"'],
            '“' => &['”'],
            '„' => &['“', '”'],
            '«' => &['»'],
            '「' => &['」'],
            '\'' if at_word => &['\''],
            _ => &[],
        };
        if !closing.is_empty() && !unclosed.contains(&c) {
            if let Some((at, end)) = inner.char_indices().find(|(_, c)| closing.contains(c)) {
                out.push(QUOTED);
                rest = inner.get(at + end.len_utf8()..).unwrap_or_default();
                continue;
            }
            unclosed.push(c);
        }
        match c {
            '’' | '‘' | '´' => out.push('\''),
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            c => out.extend(c.to_lowercase()),
        }
        rest = inner;
    }
    out
}

/// Returns the length in bytes of the URL at the beginning.
fn link(text: &str) -> Option<usize> {
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || "<>\"`".contains(c)).unwrap_or(text.len());
    Some(text.get(..end)?.trim_end_matches(['.', ',', ')', ';', ':', '!', '?']).len())
}

pub fn links(sentence: &str) -> Vec<&str> {
    let places = sentence.match_indices("http");
    let found = places.filter_map(|(at, _)| {
        let rest = sentence.get(at..)?;
        rest.get(..link(rest)?)
    });
    found.collect()
}

fn filler(words: &[&str]) -> Option<usize> {
    fn bare(word: &str) -> &str {
        word.trim_end_matches([',', '.', ':', '!', ';'])
    }
    let first = bare(words.first()?);
    let phrase = TABLE.filler_phrases.iter().find_map(|phrase| {
        phrase.strip_prefix(first)?;
        let begins = phrase.split(' ').zip(words).all(|(known, word)| bare(word) == known);
        let count = phrase.split(' ').count();
        (begins && words.len() > count).then_some(count)
    });
    if phrase.is_some() {
        return phrase;
    }
    let second = words.get(1)?;
    match first {
        // These can belong to the sentence, as in "no emojis" and "right now", unless a punctuation mark follows.
        "no" | "note" | "right" | "good" | "great" | "important" | "again" | "si" | "sure" => {
            (first != *words.first()?).then_some(1)
        }
        "so" if *second == "that" => None,
        first => TABLE.filler_words.contains(first).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sentence: &str, expect: &str) {
        assert_eq!(plain(sentence), expect, "{sentence}");
    }

    #[test]
    fn filler_words_are_removed() {
        check("Ok, please  ALWAYS use tabs", "always use tabs");
        check("By the way: I’m a doctor.", "i'm a doctor.");
        check("no, don't", "don't");
        check("No emojis here", "no emojis here");
        check("right now it works", "right now it works");
        check("ok", "ok");
    }

    #[test]
    fn quotations_code_and_links_are_masked() {
        check("it says \"always use tabs\"", "it says □");
        check("run `never` and don't say 'always'", "run □ and don't say □");
        check("see https://x.test/a?b=1, ok", "see ◊, ok");
        check("“Always” is „nie“ «jamais»", "□ is □ □");
        check("a 5\" screen", "a 5\" screen");
        assert_eq!(
            links("see (https://x.test/a). and http://y.test"),
            ["https://x.test/a", "http://y.test"]
        );
    }
}
