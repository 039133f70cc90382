//! Words that stand for one another: what somebody asks for may have been written down in another word.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::catalog::Catalog;
use crate::stem::stem;

/// The same thing, shorter or spelt otherwise.
pub(crate) const SHORT: f32 = 0.95;
/// Nearly the same thing.
pub(crate) const NEAR: f32 = 0.6;
/// One letter wrong, or another ending than the rules strip.
pub(crate) const MISSPELT: f32 = 0.7;

/// Letters that a word shares at its beginning with another of its family, and by how many they differ at the end.
const FAMILY_LETTERS: usize = 5;
const FAMILY_SPREAD: usize = 4;
/// Shorter words have too many neighbours one letter away.
const MISSPELT_LETTERS: usize = 5;
/// Neighbours that are taken.
const MOST_NEIGHBOURS: usize = 4;

/// Abbreviations of the trade, each line one thing.
const SAME: &[&str] = &[
    "admin administrator administration",
    "api apis",
    "app application",
    "arg args argument",
    "async asynchronous",
    "auth authentication authenticate",
    "authz authorization authorize",
    "calc calculate",
    "cfg conf config configuration configure",
    "char character",
    "cmd command",
    "color colour",
    "creds credential",
    "ctx context",
    "db database",
    "dep deps dependency",
    "dev development developer",
    "dict dictionary",
    "dir directory folder",
    "docs documentation",
    "dup duplicate",
    "env environment",
    "err error",
    "exec execute",
    "freq frequency",
    "func function fn",
    "gql graphql",
    "gray grey",
    "http https",
    "i18n internationalization",
    "img image",
    "impl implementation implement",
    "info information",
    "init initialize initialise initialization",
    "js javascript",
    "k8s kubernetes",
    "lang language",
    "lib library",
    "max maximum",
    "mem memory",
    "min minimum",
    "msg message",
    "nav navigation navigate",
    "num number",
    "params parameter",
    "perf performance",
    "postgres postgresql pg psql",
    "pr prs",
    "prod production",
    "py python",
    "ref reference",
    "regex regexp",
    "repo repository",
    "req request",
    "res resp response",
    "rm remove",
    "rng random",
    "spec specification",
    "stats statistics",
    "sync synchronize synchronise synchronization",
    "sys system",
    "temp temporary tmp",
    "ts typescript",
    "txn transaction",
    "util utility",
    "val value",
    "var variable",
    "vm virtual",
    "vs vscode",
    "ws websocket",
];

/// Words that are used one for the other when work is talked about.
const ALIKE: &[&str] = &[
    "begin start launch boot",
    "big large huge",
    "bug defect fault",
    "cache caching cached",
    "choose select pick",
    "convention style guideline standard",
    "convert transform translate",
    "crash panic abort segfault",
    "credential secret password token key",
    "deadline due",
    "delete remove drop erase",
    "deploy release ship rollout publish promote",
    "disappear vanish hidden invisible missing",
    "email mail",
    "error exception failure fail",
    "expire expiry ttl lifetime",
    "fast quick speed performance slow latency",
    "fetch download retrieve load",
    "figure plot chart graph diagram",
    "folder directory",
    "format layout",
    "forbid disallow prohibit ban",
    "guard protect lock",
    "host server machine",
    "incident outage postmortem",
    "job task",
    "limit cap quota maximum throttle",
    "log logging logger trace",
    "login signin logon",
    "merge rebase",
    "mock stub fake",
    "money price amount currency",
    "oncall pager paged rota",
    "picture image photo",
    "pipeline workflow ci",
    "prefer preference favourite favorite like",
    "retry backoff",
    "revert rollback undo",
    "rule policy guideline",
    "safe secure security",
    "save store persist",
    "schedule timetable cron",
    "screen display monitor",
    "setup install",
    "show display render draw",
    "split divide partition",
    "stuck hang freeze blocked",
    "suite tests",
    "test tests testing",
    "ticket issue bug",
    "typo misspelling",
    "upgrade update bump migrate",
    "user customer",
];

/// Terms that stand for a term, with how well.
pub(crate) fn kin(term: &str) -> &'static [(String, f32)] {
    KIN.get(term).map_or(&[], Vec::as_slice)
}

static KIN: LazyLock<HashMap<String, Vec<(String, f32)>>> = LazyLock::new(|| {
    let mut table: HashMap<String, Vec<(String, f32)>> = HashMap::new();
    for (groups, worth) in [(SAME, SHORT), (ALIKE, NEAR)] {
        for group in groups {
            let terms: Vec<String> = group.split(' ').map(|word| stem(word).into_owned()).collect();
            for term in &terms {
                let others = table.entry(term.clone()).or_default();
                for other in &terms {
                    if other != term && !others.iter().any(|(known, _)| known == other) {
                        others.push((other.clone(), worth));
                    }
                }
            }
        }
    }
    table
});

/// Terms of a catalog that a word which occurs nowhere may have meant.
pub(crate) fn neighbours(catalog: &Catalog, term: &str) -> Vec<u32> {
    if !term.bytes().all(|byte| byte.is_ascii_lowercase()) || term.len() < MISSPELT_LETTERS {
        return Vec::new();
    }
    let mut found: Vec<u32> = catalog
        .starting_with(&term[..FAMILY_LETTERS.min(term.len())])
        .filter(|(other, _)| other.len().abs_diff(term.len()) <= FAMILY_SPREAD)
        .map(|(_, number)| number)
        .collect();
    if found.is_empty() {
        let alike = catalog.starting_with(&term[..1]);
        let alike = alike.filter(|(other, _)| is_one_off(term.as_bytes(), other.as_bytes()));
        found = alike.map(|(_, number)| number).collect();
    }
    found.truncate(MOST_NEIGHBOURS);
    found
}

/// One letter more, less, another, or two that changed places.
fn is_one_off(left: &[u8], right: &[u8]) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (short, long) = (&short[same..], &long[same..]);
    if short.len() < long.len() {
        return short == &long[1..];
    }
    match (short, long) {
        ([], []) => true,
        ([a, b, rest @ ..], [c, d, others @ ..]) if (a, b) == (d, c) => rest == others,
        _ => short[1..] == long[1..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_and_their_words_meet() {
        let stands = |term: &str, other: &str| kin(term).iter().any(|(known, _)| known == other);
        assert!(stands("db", "databas") && stands("databas", "db"));
        assert!(stands("rollback", "revert"));
        assert!(!stands("db", "db"));
        assert!(kin("fog").is_empty());
    }

    #[test]
    fn one_letter_off() {
        for (left, right, expect) in [
            ("water", "water", true),
            ("water", "watr", true),
            ("water", "wtaer", true),
            ("water", "wader", true),
            ("water", "waters", true),
            ("water", "wadet", false),
            ("water", "watersx", false),
            ("", "a", true),
        ] {
            assert_eq!(is_one_off(left.as_bytes(), right.as_bytes()), expect, "{left} {right}");
            assert_eq!(is_one_off(right.as_bytes(), left.as_bytes()), expect, "{right} {left}");
        }
    }
}
