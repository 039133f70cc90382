//! Explicit requests of the user to remember or forget something.

use super::table::TABLE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryWishKind {
    /// The sentence itself is to be remembered.
    Remember,
    /// The sentence before it is to be remembered.
    RememberBefore,
    /// The sentences after it are to be remembered.
    RememberAfter,
    Forget,
}

/// What a normalized sentence requests.
pub fn wish(plain: &str, opens: bool) -> Option<MemoryWishKind> {
    let wishes = &TABLE.wishes;
    if wishes.forget.hold(plain) && !wishes.forget_task.hold(plain) {
        return Some(MemoryWishKind::Forget);
    }
    let is_recollection = wishes.recollection.hold(plain) && !wishes.statement.hold(plain);
    if !wishes.remember.hold(plain) || is_recollection {
        return None;
    }
    match (wishes.alone.hold(plain), opens) {
        (true, true) => Some(MemoryWishKind::RememberAfter),
        (true, false) => Some(MemoryWishKind::RememberBefore),
        (false, _) => Some(MemoryWishKind::Remember),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plain::plain;
    use super::*;

    fn check(sentence: &str, expect: Option<MemoryWishKind>) {
        assert_eq!(wish(&plain(sentence), sentence.ends_with(':')), expect, "{sentence}");
    }

    #[test]
    fn what_is_to_be_remembered_is_said_outright() {
        check("Remember that we deploy on Mondays", Some(MemoryWishKind::Remember));
        check("please remember to sign commits", Some(MemoryWishKind::Remember));
        check("Remember: the demo is on Friday", Some(MemoryWishKind::Remember));
        check("remember the deploy key is in the vault", Some(MemoryWishKind::Remember));
        check("Merk dir, dass wir freitags nicht deployen", Some(MemoryWishKind::Remember));
        check("souviens-toi que la démo est vendredi", Some(MemoryWishKind::Remember));
        check("recuerda que el cliente usa IE11", Some(MemoryWishKind::Remember));
        check("请记住我们用 pnpm", Some(MemoryWishKind::Remember));
        check("remember this", Some(MemoryWishKind::RememberBefore));
        check("Please save that to memory.", Some(MemoryWishKind::RememberBefore));
        check("please remember!", Some(MemoryWishKind::RememberBefore));
        check("Remember: use pnpm", Some(MemoryWishKind::Remember));
        check("Remember this:", Some(MemoryWishKind::RememberAfter));
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
        check("forget that I use tabs", Some(MemoryWishKind::Forget));
        check("delete that memory", Some(MemoryWishKind::Forget));
        check("forget what I said about pnpm", Some(MemoryWishKind::Forget));
        check("forget it", None);
        check("forget the tests for a moment", None);
        check("forget about it, just run it", None);
    }
}
