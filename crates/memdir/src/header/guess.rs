//! Guesses the type of a memory from its text, if the words leave no doubt.

use super::MemoryKind;

/// Beginnings of sentences about oneself.
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
/// Beginnings of rules about how to work.
const RULE: [&str; 9] =
    ["always ", "never ", "don't ", "don’t ", "do not ", "please ", "prefer ", "avoid ", "stop "];

/// Guesses from the beginning of the text, or from a URL in it. Returns `None` for most texts.
pub fn guess_kind(text: &str) -> Option<MemoryKind> {
    let text = text.trim_start().to_lowercase();
    let begins = |with: &[&str]| with.iter().any(|words| text.starts_with(words));
    if begins(&RULE) {
        return Some(MemoryKind::Feedback);
    }
    if begins(&SELF) {
        return Some(MemoryKind::User);
    }
    text.contains("https://").then_some(MemoryKind::Reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_guessed_where_it_is_clear() {
        let check = |text: &str, expect| assert_eq!(guess_kind(text), expect, "{text}");
        check("Never mock the database", Some(MemoryKind::Feedback));
        check("Don’t push on Fridays", Some(MemoryKind::Feedback));
        check("I'm a data scientist", Some(MemoryKind::User));
        check("call me Ada", Some(MemoryKind::User));
        check("Bugs are tracked at https://bugs.example.org", Some(MemoryKind::Reference));
        check("never use https://old.example.org", Some(MemoryKind::Feedback));
        check("The release is on Thursday", None);
        check("Neverland is the code name", None);
        check("", None);
    }
}
