//! English words to stems, so that `painting` finds `painted`.
//!
//! The rules are Porter's second set (https://snowballstem.org/algorithms/english/stemmer.html), which
//! strip endings in steps and only where enough of a word is left. Forms that no rule makes (`went`,
//! `children`) are in a small table. A whole name put together from words is stemmed like the word that
//! someone types for it in small letters.

use std::borrow::Cow;

/// Irregular forms with the word that they belong to, sorted.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"), ("became", "become"), ("began", "begin"), ("begun", "begin"),
    ("bought", "buy"), ("broke", "break"), ("broken", "break"), ("brought", "bring"),
    ("built", "build"), ("caught", "catch"), ("children", "child"), ("chose", "choose"),
    ("chosen", "choose"), ("drawn", "draw"), ("drew", "draw"), ("driven", "drive"),
    ("drove", "drive"), ("eaten", "eat"), ("fallen", "fall"), ("feet", "foot"),
    ("fell", "fall"), ("felt", "feel"), ("flew", "fly"), ("flown", "fly"),
    ("forgot", "forget"), ("forgotten", "forget"), ("fought", "fight"), ("found", "find"),
    ("froze", "freeze"), ("frozen", "freeze"), ("gave", "give"), ("given", "give"),
    ("goes", "go"), ("gone", "go"), ("got", "get"), ("gotten", "get"), ("grew", "grow"),
    ("grown", "grow"), ("heard", "hear"), ("held", "hold"), ("hid", "hide"),
    ("hidden", "hide"), ("hung", "hang"), ("kept", "keep"), ("kids", "child"),
    ("knew", "know"), ("known", "know"), ("led", "lead"), ("left", "leave"),
    ("lives", "life"), ("lost", "lose"), ("made", "make"), ("men", "man"),
    ("met", "meet"), ("paid", "pay"), ("people", "person"), ("ran", "run"),
    ("ridden", "ride"), ("rode", "ride"), ("said", "say"), ("sang", "sing"),
    ("saw", "see"), ("seen", "see"), ("sent", "send"), ("shot", "shoot"),
    ("slept", "sleep"), ("sold", "sell"), ("spent", "spend"), ("spoke", "speak"),
    ("spoken", "speak"), ("stole", "steal"), ("stolen", "steal"), ("stood", "stand"),
    ("sung", "sing"), ("swam", "swim"), ("swum", "swim"), ("taken", "take"),
    ("taught", "teach"), ("thought", "think"), ("threw", "throw"), ("thrown", "throw"),
    ("told", "tell"), ("took", "take"), ("understood", "understand"), ("went", "go"),
    ("wives", "wife"), ("woke", "wake"), ("woken", "wake"), ("women", "woman"),
    ("won", "win"), ("wore", "wear"), ("worn", "wear"), ("written", "write"),
    ("wrote", "write"),
];

/// Words that the rules would spoil.
const FIXED: &[(&str, &str)] = &[
    ("bias", "bias"),
    ("dying", "die"),
    ("early", "earli"),
    ("lying", "lie"),
    ("news", "news"),
    ("only", "onli"),
    ("tying", "tie"),
    ("ugly", "ugli"),
];

/// Second step: endings replaced where they begin in the first region, longest first of each kind.
const SECOND: &[(&str, &str)] = &[
    ("ization", "ize"),
    ("ational", "ate"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("entli", "ent"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("fulli", "ful"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("izer", "ize"),
    ("ator", "ate"),
    ("alli", "al"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];

const THIRD: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ative", ""),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

/// Fourth step: endings dropped where they begin in the second region.
const FOURTH: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic",
];

/// Stem of a word in lower-case ASCII letters; anything else comes back as it is.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    if let Some(fixed) = look_up(FIXED, word) {
        return Cow::Borrowed(fixed);
    }
    let word = look_up(IRREGULAR, word).unwrap_or(word);
    let mut stem = Stem::new(word);
    stem.plural();
    if !matches!(
        stem.text.as_str(),
        "inning" | "outing" | "canning" | "proceed" | "exceed" | "succeed"
    ) {
        stem.past();
        stem.final_y();
        stem.replace(SECOND);
        stem.replace(THIRD);
        stem.drop_ending();
        stem.final_e();
    }
    stem.text.make_ascii_lowercase();
    Cow::Owned(stem.text)
}

fn look_up(table: &[(&'static str, &'static str)], word: &str) -> Option<&'static str> {
    table.binary_search_by_key(&word, |(form, _)| form).ok().map(|at| table[at].1)
}

/// A word on its way. A `y` that is no vowel is a capital meanwhile.
struct Stem {
    text: String,
    /// Where the first region begins: behind the first consonant after a vowel.
    first: usize,
    /// The same within the first region.
    second: usize,
}

impl Stem {
    fn new(word: &str) -> Self {
        let mut bytes = word.as_bytes().to_vec();
        for at in 0..bytes.len() {
            if bytes[at] == b'y' && (at == 0 || is_vowel(bytes[at - 1])) {
                bytes[at] = b'Y';
            }
        }
        let exceptional =
            ["gener", "commun", "arsen"].iter().find(|start| word.starts_with(*start));
        let first = exceptional.map_or_else(|| region(&bytes, 0), |start| start.len());
        let second = region(&bytes, first);
        Self { text: String::from_utf8(bytes).unwrap_or_default(), first, second }
    }

    fn ends(&self, ending: &str) -> bool {
        self.text.ends_with(ending)
    }

    fn cut(&mut self, bytes: usize) {
        self.text.truncate(self.text.len() - bytes);
    }

    /// The letter so far from the end.
    fn back(&self, from_end: usize) -> u8 {
        let bytes = self.text.as_bytes();
        bytes.len().checked_sub(from_end).map_or(0, |at| bytes[at])
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.text.as_bytes()[..end].iter().copied().any(is_vowel)
    }

    fn plural(&mut self) {
        let length = self.text.len();
        if self.ends("sses") {
            self.cut(2);
        } else if self.ends("ied") || self.ends("ies") {
            self.cut(if length > 4 { 2 } else { 1 });
        } else if self.ends("s")
            && !self.ends("us")
            && !self.ends("ss")
            && !self.ends("is")
            && self.has_vowel_before(length - 2)
        {
            self.cut(1);
        }
    }

    fn past(&mut self) {
        if let Some(ending) = ["eedly", "eed"].into_iter().find(|ending| self.ends(ending)) {
            if self.text.len() - ending.len() >= self.first {
                self.cut(ending.len() - 2);
            }
            return;
        }
        let ending = ["ingly", "edly", "ing", "ed"].into_iter().find(|ending| self.ends(ending));
        let Some(ending) = ending else { return };
        if !self.has_vowel_before(self.text.len() - ending.len()) {
            return;
        }
        self.cut(ending.len());
        let doubled = self.back(1) == self.back(2) && b"bdfgmnprt".contains(&self.back(1));
        if ["at", "bl", "iz"].iter().any(|end| self.ends(end)) {
            self.text.push('e');
        } else if doubled {
            self.cut(1);
        } else if self.first >= self.text.len() && self.ends_short(self.text.len()) {
            self.text.push('e');
        }
    }

    fn final_y(&mut self) {
        let last = self.back(1);
        if self.text.len() > 2 && matches!(last, b'y' | b'Y') && !is_vowel(self.back(2)) {
            self.cut(1);
            self.text.push('i');
        }
    }

    fn replace(&mut self, endings: &[(&str, &str)]) {
        let found = endings.iter().find(|(ending, _)| self.ends(ending));
        let Some((ending, with)) = found else { return };
        let start = self.text.len() - ending.len();
        let before = self.back(ending.len() + 1);
        let allowed = match *ending {
            "ogi" => before == b'l',
            "li" => b"cdeghkmnrt".contains(&before),
            "ative" => start >= self.second,
            _ => true,
        };
        if allowed && start >= self.first {
            self.cut(ending.len());
            self.text.push_str(with);
        }
    }

    fn drop_ending(&mut self) {
        let Some(ending) = FOURTH.iter().find(|ending| self.ends(ending)) else { return };
        let allowed = *ending != "ion" || matches!(self.back(4), b's' | b't');
        if allowed && self.text.len() - ending.len() >= self.second {
            self.cut(ending.len());
        }
    }

    fn final_e(&mut self) {
        let start = self.text.len().saturating_sub(1);
        let drop = match self.back(1) {
            b'e' => start >= self.second || (start >= self.first && !self.ends_short(start)),
            b'l' => self.back(2) == b'l' && start >= self.second,
            _ => false,
        };
        if drop {
            self.cut(1);
        }
    }

    /// Whether the text up to `end` ends in a short syllable: `hop`, `at`, but not `how`, `row`.
    fn ends_short(&self, end: usize) -> bool {
        match &self.text.as_bytes()[..end] {
            [vowel, other] => is_vowel(*vowel) && !is_vowel(*other),
            [.., before, vowel, last] => {
                !is_vowel(*before)
                    && is_vowel(*vowel)
                    && !is_vowel(*last)
                    && !matches!(last, b'w' | b'x' | b'Y')
            }
            _ => false,
        }
    }
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Behind the first consonant that follows a vowel, from `start` on; the end if there is none.
fn region(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    rest.windows(2)
        .position(|pair| is_vowel(pair[0]) && !is_vowel(pair[1]))
        .map_or(bytes.len(), |at| start + at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_their_stem() {
        for forms in [
            &["file", "files", "filed", "filing"][..],
            &["compile", "compiles", "compiled", "compiling"],
            &["run", "runs", "running", "ran"],
            &["query", "queries", "queried", "querying"],
            &["stop", "stopped", "stopping"],
            &["paint", "painted", "painting", "paints"],
            &["volunteer", "volunteers", "volunteered", "volunteering"],
            &["adopt", "adoption", "adopted", "adopting"],
            &["connect", "connection", "connected", "connections"],
            &["go", "goes", "went", "gone", "going"],
            &["child", "children", "kids"],
            &["cry", "cries", "cried", "crying"],
            &["agree", "agreed", "agreeing"],
            &["happy", "happiness"],
            &["hope", "hoping", "hoped", "hopes"],
            &["lie", "lying"],
            &["serialize", "serialized", "serialization"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|one| *one == stems[0]), "{forms:?}: {stems:?}");
        }
    }

    #[test]
    fn the_tables_are_sorted() {
        assert!(IRREGULAR.is_sorted());
        assert!(FIXED.is_sorted());
    }

    #[test]
    fn words_that_only_look_alike_stay_apart() {
        for (one, other) in [
            ("hop", "hope"),
            ("new", "news"),
            ("thing", "the"),
            ("access", "acce"),
            ("status", "state"),
        ] {
            assert_ne!(stem(one), stem(other), "{one} {other}");
        }
        for word in ["string", "status", "analysis", "class", "bus", "is", "a", ""] {
            assert_eq!(stem(word), word);
        }
        assert_eq!(stem("größen"), "größen");
        assert_eq!(stem("e0308s"), "e0308s");
    }

    proptest::proptest! {
        #[test]
        fn a_stem_is_no_longer_than_its_word_and_one_letter(word in "[a-z]{0,20}") {
            let irregular = look_up(IRREGULAR, &word).is_some();
            let stem = stem(&word);
            proptest::prop_assert!(irregular || stem.len() <= word.len() + 1);
            proptest::prop_assert!(word.is_empty() || !stem.is_empty());
        }
    }
}
