//! What the user says outright about memory itself: to remember something, or to forget it.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::pattern;

/// What a sentence asks of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It holds what is to be remembered.
    Remember,
    /// What stands before it is to be remembered.
    RememberBefore,
    /// What follows it is to be remembered.
    RememberAfter,
    Forget,
}

/// What a sentence in its plain form asks for.
pub fn wish(plain: &str, opens: bool) -> Option<Wish> {
    let holds = |patterns: &[Option<Regex>]| patterns.iter().flatten().any(|r| r.is_match(plain));
    if holds(&FORGET[..1]) && !holds(&FORGET[1..]) {
        return Some(Wish::Forget);
    }
    let is_feature = holds(&REMEMBER[1..2]) && !holds(&REMEMBER[2..]);
    if !holds(&REMEMBER[..1]) || is_feature {
        return None;
    }
    let alone = holds(std::slice::from_ref(&ALONE));
    match (alone, opens) {
        (true, true) => Some(Wish::RememberAfter),
        (true, false) => Some(Wish::RememberBefore),
        (false, _) => Some(Wish::Remember),
    }
}

/// Opens a list of orders that stand.
pub fn opens_rules(plain: &str) -> bool {
    OPENS.as_ref().is_some_and(|opens| opens.is_match(plain))
}

fn compiled<const N: usize>(patterns: [&str; N]) -> [Option<Regex>; N] {
    patterns.map(pattern)
}

/// What asks; what only sounds like it, a form that remembers its user or somebody's own recollection; and what
/// makes a statement of it all the same.
static REMEMBER: LazyLock<[Option<Regex>; 3]> = LazyLock::new(|| {
    compiled([
        r"^(?:(?:please |you (?:should|must|have to|need to) |always |i want you to |can you |could you )*(?:remember|memori[sz]e|(?:don't|do not|never) (?:ever )?forget that|make a (?:mental )?note|take note|note down|note for (?:the )?(?:future|later)|note to self|for future reference|keep in mind for (?:the )?(?:future|later|next)|save (?:this|that|it|the following) (?:to|in|into|as) (?:your |a |the |long[- ]term )?memor(?:y|ies)|add (?:this|that|the following|it) to (?:your |the )?memory|commit (?:this|that) to memory|(?:bitte )?(?:merk dir|merke dir|denk daran|vergiss nicht|notiere dir)|(?:souviens-toi|rappelle-toi|retiens|n'oublie pas|note que)|(?:recuerda|acuérdate|no olvides|ten en cuenta siempre)|(?:lembre-se|lembra|não esqueça)|ricorda(?:ti)?|non dimenticare|onthoud|vergeet niet)\b|(?:请|请你)?(?:记住|记得|别忘了|不要忘记)|.*(?:覚えておいて|忘れないで))",
        r"^(?:please )?(?:remember|memori[sz]e) (?:me\b|when |if |which |whether |what |how |where |(?:the|a|an|your|its|their|last|user|users|each|all) (?:[a-z-]+ ){0,5}(?:in|across|between|on|for|after|when|so)\b|(?:the|a|an|last|user|users) [a-z-]+(?: [a-z-]+)?[.!]?$)|记得(?:吗|上次)",
        r"^(?:please )?(?:remember|memori[sz]e) (?:the|a|an|each|all|your) (?:[\w-]+ ){0,4}[\w-]+ (?:is|are|was|were|has|have|lives?|must|should|can|needs?|runs?|belongs?|uses?|goes|closes|opens|starts|ends|expires?)\b",
    ])
});

/// Asks, and holds nothing: "remember this".
static ALONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:[a-z' -]{0,30}?)(?:remember|memori[sz]e|note|save|add|commit|merk dir|retiens|recuerda)(?: (?:this|that|it|these|those|the following|das|ça|cela|esto|eso)(?: (?:to|in|into|as|for) [a-z -]{0,40})?)?[.:!]*$",
    )
});

static OPENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:from now on|going forward|house rules|my (?:rules|preferences|conventions)|our (?:rules|conventions|guidelines)|some (?:ground rules|rules|preferences|conventions)|rules for (?:this project|you|all sessions)|ab jetzt|désormais|a partir de ahora)\b[^.?!]*:$",
    )
});

static FORGET: LazyLock<[Option<Regex>; 2]> = LazyLock::new(|| {
    compiled([
        r"^(?:please |you can |you should |can you )*(?:forget (?:that |what |the |about |everything |my |all )|unlearn |(?:delete|remove|drop|erase) (?:that|the|this|your|all|my) (?:memory|memories)\b|vergiss (?:dass|was|die|das|meine)|oublie (?:que|ce que|la|le|mes)|olvida (?:que|lo que|la|el|mis))",
        r"^(?:please )?(?:forget (?:about )?(?:(?:it|this|that)(?:[.!,;]|$| for| and| then)|the (?:tests?|docs?|pr|branch|rest|last|previous|above|plan|file|change|refactor\w*|error|lint\w*)[.!,]?(?: |$)))",
    ])
});

#[cfg(test)]
mod tests {
    use super::super::plain::plain;
    use super::*;

    fn check(sentence: &str, expect: Option<Wish>) {
        assert_eq!(wish(&plain(sentence), sentence.ends_with(':')), expect, "{sentence}");
    }

    #[test]
    fn patterns_are_whole() {
        assert!(REMEMBER.iter().chain(FORGET.iter()).all(Option::is_some));
        assert!(ALONE.is_some() && OPENS.is_some());
    }

    #[test]
    fn what_is_to_be_remembered_is_said_outright() {
        check("Remember that we deploy on Mondays", Some(Wish::Remember));
        check("please remember to sign commits", Some(Wish::Remember));
        check("Remember: the demo is on Friday", Some(Wish::Remember));
        check("remember the deploy key is in the vault", Some(Wish::Remember));
        check("Merk dir, dass wir freitags nicht deployen", Some(Wish::Remember));
        check("souviens-toi que la démo est vendredi", Some(Wish::Remember));
        check("recuerda que el cliente usa IE11", Some(Wish::Remember));
        check("请记住我们用 pnpm", Some(Wish::Remember));
        check("remember this", Some(Wish::RememberBefore));
        check("Please save that to memory.", Some(Wish::RememberBefore));
        check("please remember!", Some(Wish::RememberBefore));
        check("Remember: use pnpm", Some(Wish::Remember));
        check("Remember this:", Some(Wish::RememberAfter));
    }

    #[test]
    fn a_feature_or_a_recollection_is_no_wish() {
        check("remember the selected tab in local storage", None);
        check("remember the last position", None);
        check("remember me checkbox is broken", None);
        check("I remember that it worked", None);
        check("it should remember that", None);
        check("don't forget to run the tests", None);
        check("remember when we split the parser", None);
        check("remember which tab was open", None);
    }

    #[test]
    fn to_forget_is_told_apart() {
        check("forget that I use tabs", Some(Wish::Forget));
        check("delete that memory", Some(Wish::Forget));
        check("forget what I said about pnpm", Some(Wish::Forget));
        check("forget it", None);
        check("forget the tests for a moment", None);
        check("forget about it, just run it", None);
    }
}
