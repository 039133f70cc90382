//! Matters on which only one statement can be right at a time, such as the spelling, a package manager, or the host of
//! an environment. A later statement on a matter replaces the earlier one, whatever else it says.

use super::plain::plain;
use super::table::TABLE;

/// The matter that a statement settles, and for what: `host` for `production`, for example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matter {
    name: &'static str,
    of: String,
}

/// Beginnings of statements that only rule out one choice, and so do not settle the matter.
const RULES_OUT: [&str; 7] = ["never ", "don't ", "do not ", "no ", "avoid ", "stop ", "not "];

/// Returns the matter that a sentence settles.
pub fn settled_by(sentence: &str) -> Option<Matter> {
    let plain = plain(sentence);
    if RULES_OUT.iter().any(|start| plain.starts_with(start)) {
        return None;
    }
    TABLE.matters.iter().find_map(|matter| {
        let found = matter.when.captures(&plain)?;
        let of = found.name("of").map_or("", |of| of.as_str());
        let of = match of {
            "prod" => "production",
            "dev" => "development",
            of => of,
        };
        Some(Matter { name: &matter.name, of: of.trim().to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &str, other: &str, same: bool) {
        let (one_of, other_of) = (settled_by(one), settled_by(other));
        assert_eq!(one_of.is_some() && one_of == other_of, same, "{one} / {other}: {one_of:?}");
    }

    #[test]
    fn a_matter_is_settled_once() {
        check("use the british spelling", "Use American English from now on.", true);
        check("We use pnpm in this repo.", "we no longer use pnpm here, we use bun", true);
        check("use pnpm in the frontend", "use yarn in the backend", false);
        check("use pnpm in the frontend", "use yarn in the frontend", true);
        check("Please answer in German.", "always reply in English", true);
        check("Bitte antworte auf Deutsch.", "Answer in English from now on.", true);
        check("Réponds en français", "日本語で答えてください", true);
        check("Responde siempre en español", "以后请用中文回答。", true);
        check("I prefer short answers.", "keep your explanations detailed", true);
        check("translate it to German", "answer in English", false);
        check("production is at Hetzner", "prod runs on AWS now", true);
        check("production is at Hetzner", "staging runs on AWS now", false);
        check("I use vim", "I switched to Zed", true);
        check("my editor is vim", "my manager is Ada", false);
        check("Priya is our security lead", "Jonas is now our security lead", true);
        check("Priya is our security lead", "Jonas is our release manager", false);
        check("we release from the stable branch", "we release from main", true);
        check("we release from the stable branch", "merge into main with a squash", false);
        check("use tabs", "use spaces", true);
        check("keep tabs in generated files", "keep spaces in generated files", false);
        check("use single quotes", "from now on, use double quotes", true);
        check("use single quotes in Python", "use double quotes in JavaScript", false);
        check("use pnpm", "never use yarn", false);
        check("sign every commit", "sign every tag", false);
    }
}
