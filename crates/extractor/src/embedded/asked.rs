//! Explicit requests by the user to remember or forget something.

use super::table::TABLE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRequestKind {
    /// Remember the sentence itself.
    Remember,
    /// Remember the sentence before it.
    RememberBefore,
    /// Remember the sentences after it.
    RememberAfter,
    Forget,
}

/// Returns what a normalized sentence requests. `opens` says whether the sentence ends with a colon.
pub fn memory_request(plain: &str, opens: bool) -> Option<MemoryRequestKind> {
    let wishes = &TABLE.wishes;
    if wishes.forget.match_any(plain) && !wishes.forget_task.match_any(plain) {
        return Some(MemoryRequestKind::Forget);
    }
    let is_recollection =
        || wishes.recollection.match_any(plain) && !wishes.statement.match_any(plain);
    if !wishes.remember.match_any(plain) || is_recollection() {
        return None;
    }
    match (wishes.alone.match_any(plain), opens) {
        (true, true) => Some(MemoryRequestKind::RememberAfter),
        (true, false) => Some(MemoryRequestKind::RememberBefore),
        (false, _) => Some(MemoryRequestKind::Remember),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plain::plain;
    use super::*;

    fn check(sentence: &str, expect: Option<MemoryRequestKind>) {
        assert_eq!(
            memory_request(&plain(sentence), sentence.ends_with([':', '：'])),
            expect,
            "{sentence}"
        );
    }

    #[test]
    fn requests_to_remember_are_found() {
        check("Remember that we deploy on Mondays", Some(MemoryRequestKind::Remember));
        check("please remember to sign commits", Some(MemoryRequestKind::Remember));
        check("Remember: the demo is on Friday", Some(MemoryRequestKind::Remember));
        check("remember the deploy key is in the vault", Some(MemoryRequestKind::Remember));
        check("Merk dir, dass wir freitags nicht deployen", Some(MemoryRequestKind::Remember));
        check("souviens-toi que la démo est vendredi", Some(MemoryRequestKind::Remember));
        check("recuerda que el cliente usa IE11", Some(MemoryRequestKind::Remember));
        check("请记住我们用 pnpm", Some(MemoryRequestKind::Remember));
        check("remember this", Some(MemoryRequestKind::RememberBefore));
        check("Please save that to memory.", Some(MemoryRequestKind::RememberBefore));
        check("remember to sign every commit", Some(MemoryRequestKind::Remember));
        check("remember that for the next release", Some(MemoryRequestKind::RememberBefore));
        check("please remember!", Some(MemoryRequestKind::RememberBefore));
        check("Remember: use pnpm", Some(MemoryRequestKind::Remember));
        check("Remember this:", Some(MemoryRequestKind::RememberAfter));
        check("The backups are on hp-9, remember that.", Some(MemoryRequestKind::Remember));
        check("Die Backups liegen auf hp-9, merk dir das.", Some(MemoryRequestKind::Remember));
        check("Merk dir: freitags wird nicht deployt", Some(MemoryRequestKind::Remember));
        check("Vergiss nicht, dass der Import läuft", Some(MemoryRequestKind::Remember));
        check("Merk dir das bitte.", Some(MemoryRequestKind::RememberBefore));
        check("Vergiss das nicht!", Some(MemoryRequestKind::RememberBefore));
        check("No lo olvides.", Some(MemoryRequestKind::RememberBefore));
        check("覚えておいて。", Some(MemoryRequestKind::RememberBefore));
        check("これを覚えておいてください。", Some(MemoryRequestKind::RememberBefore));
        check("忘れないでね！", Some(MemoryRequestKind::RememberBefore));
        check("覚えておいて：", Some(MemoryRequestKind::RememberAfter));
        check("本番はtokyo-7なので覚えておいて。", Some(MemoryRequestKind::Remember));
        check("请记住这一点。", Some(MemoryRequestKind::RememberBefore));
    }

    #[test]
    fn a_feature_or_a_recollection_is_not_a_request() {
        check("remember the selected tab in local storage", None);
        check("remember the last position", None);
        check("remember me checkbox is broken", None);
        check("I remember that it worked", None);
        check("it should remember that", None);
        check("don't forget to run the tests", None);
        check("vergiss nicht, die Tests zu starten", None);
        check("denk daran, den Server neu zu starten!", None);
        check("n'oublie pas de lancer les tests", None);
        check("テストを書くのを忘れないで", None);
        check("it is flaky, I remember that it failed", None);
        check("remember when we split the parser", None);
        check("remember which tab was open", None);
    }

    #[test]
    fn requests_to_forget_are_found() {
        check("forget that I use tabs", Some(MemoryRequestKind::Forget));
        check("delete that memory", Some(MemoryRequestKind::Forget));
        check("forget what I said about pnpm", Some(MemoryRequestKind::Forget));
        check("forget it", None);
        check("forget the tests for a moment", None);
        check("forget about it, just run it", None);
    }
}
