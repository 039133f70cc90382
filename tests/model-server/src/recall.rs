//! Chooses memories: those whose line has a word in common with the user's message.

use serde_json::json;

/// Minimum length of a word, because shorter ones are in every line.
const MIN_LETTERS: usize = 4;
const MOST: usize = 5;

/// Returns a JSON array of names, one of which does not exist.
pub(crate) fn choose(instruction: &str) -> String {
    let said = between(instruction, "<user_said>", "</user_said>");
    let wanted: Vec<String> = words(said).collect();
    let lines = between(instruction, "<notes>", "</notes>").lines();
    let fits = lines.filter(|line| words(line).any(|word| wanted.contains(&word)));
    let names = fits.filter_map(|line| line.split(" (").next()).take(MOST);
    let names: Vec<&str> = names.chain(["no-such-note"]).collect();
    json!(names).to_string()
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let inside = text.split_once(open).map_or("", |(_, rest)| rest);
    inside.split_once(close).map_or(inside, |(inside, _)| inside)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.len() >= MIN_LETTERS).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_share_a_word_are_chosen() {
        let asked = "<notes>\nfog (project, today): how far one sees\nteam/sky (project, today): its colour\n\
                     </notes>\n<user_said>\nWhich colour?\n</user_said>";
        assert_eq!(choose(asked), r#"["team/sky","no-such-note"]"#);
    }
}
