//! Reduces English words to stems, so that `painting` finds `painted`.
//!
//! The rules are those of the Porter2 stemmer (https://snowballstem.org/algorithms/english/stemmer.html). Irregular
//! forms (`went`, `children`) are in a small table. A compound name is stemmed like a word in lower case.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// Words whose stems in existing indexes differ from those that the current rules produce.
#[rustfmt::skip]
const PINNED: [(&str, &str); 13] = [
    ("andes", "and"), ("atlas", "atla"), ("cosmos", "cosmo"), ("earring", "ear"),
    ("earrings", "ear"), ("gently", "gentli"), ("herring", "her"), ("herrings", "her"),
    ("howe", "how"), ("idly", "id"), ("singly", "sing"), ("skies", "ski"), ("sky", "ski"),
];

/// Stems of words for which the rules are wrong. Each line of the file contains a word and its irregular forms.
static KNOWN: LazyLock<HashMap<&str, Cow<'_, str>>> = LazyLock::new(|| {
    let lines = include_str!("stem/irregular.txt").lines();
    let irregular = lines
        .filter_map(|line| line.split_once(' '))
        .flat_map(|(word, forms)| forms.split(' ').map(move |form| (form, by_rules(word))));
    irregular.chain(PINNED.map(|(word, stem)| (word, Cow::Borrowed(stem)))).collect()
});

/// Returns the stem of a word in lower-case ASCII letters. Any other text is returned unchanged.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    // The `s` of `analysis` and `redis` is not a plural.
    let is_bare = word.len() < 3 || word.ends_with("is");
    if is_bare || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    KNOWN.get(word).map_or_else(|| by_rules(word), |stem| Cow::Borrowed(stem.as_ref()))
}

fn by_rules(word: &str) -> Cow<'_, str> {
    Stemmer::create(Algorithm::English).stem(word)
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
        assert_eq!((stem("sky"), stem("gently")), ("ski".into(), "gentli".into()));
        for word in ["redis", "string", "status", "analysis", "class", "bus", "is", "a", ""] {
            assert_eq!(stem(word), word);
        }
        assert_eq!(stem("größen"), "größen");
        assert_eq!(stem("e0308s"), "e0308s");
    }

    proptest::proptest! {
        #[test]
        fn a_stem_is_no_longer_than_its_word_and_one_letter(word in "[a-z]{0,20}") {
            let irregular = KNOWN.contains_key(word.as_str());
            let stem = stem(&word);
            proptest::prop_assert!(irregular || stem.len() <= word.len() + 1);
            proptest::prop_assert!(word.is_empty() || !stem.is_empty());
        }
    }
}
