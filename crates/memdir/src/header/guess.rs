//! The type of something that a person asked to remember, where its words leave no doubt.

use super::Kind;

/// What a sentence about oneself begins with.
const SELF: [&str; 10] = [
    "i am ",
    "i'm ",
    "i’m ",
    "i work ",
    "i speak ",
    "i live ",
    "my name ",
    "my role ",
    "my background ",
    "call me ",
];
/// What a rule for working begins with.
const RULE: [&str; 9] =
    ["always ", "never ", "don't ", "don’t ", "do not ", "please ", "prefer ", "avoid ", "stop "];

impl Kind {
    /// By how the text begins, or by an address in it. `None` where that says nothing: most of what is
    /// worth remembering.
    pub fn guess(text: &str) -> Option<Kind> {
        let text = text.trim_start().to_lowercase();
        let begins = |with: &[&str]| with.iter().any(|words| text.starts_with(words));
        if begins(&RULE) {
            return Some(Kind::Feedback);
        }
        if begins(&SELF) {
            return Some(Kind::User);
        }
        text.contains("https://").then_some(Kind::Reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_guessed_where_it_is_clear() {
        let check = |text: &str, expect| assert_eq!(Kind::guess(text), expect, "{text}");
        check("Never mock the database", Some(Kind::Feedback));
        check("Don’t push on Fridays", Some(Kind::Feedback));
        check("I'm a data scientist", Some(Kind::User));
        check("call me Ada", Some(Kind::User));
        check("Bugs are tracked at https://bugs.example.org", Some(Kind::Reference));
        check("never use https://old.example.org", Some(Kind::Feedback));
        check("The release is on Thursday", None);
        check("Neverland is the code name", None);
        check("", None);
    }
}
