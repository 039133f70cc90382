//! Writes the topic of one statement: the user's own sentence, when they said it, and how to apply it.

use bethink_memdir::header::{self, Header, HeaderChange, Unchangeable};
use bethink_memdir::{Name, Source};
use bethink_transcript::{UnixMicros, text};

use super::plain::plain;
use super::table::TABLE;
use super::teach::TaughtSentence;
use crate::same::{is_common, is_denial};

/// The strategy's name in its topics.
pub const STRATEGY: &str = "embedded";
/// Beginning of a line between a statement in other words and the user's own words.
pub const REWORDED: &str = "Written on ";
const NAME_WORDS: usize = 6;
/// Maximum length of a description, in characters. With link and title, it should fit into the 200 characters of an
/// index line.
const DESCRIPTION_CHARS: usize = 120;

pub fn name(sentence: &str) -> Name {
    Name::suggest(&name_words(sentence))
}

/// Returns the words of a statement that its topic is named after.
fn name_words(sentence: &str) -> String {
    let plain = plain(sentence);
    let plain = without_request(&plain).replace("n't", "nt");
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // A name without the negation would say the opposite.
    let mut is_after_without = false;
    let says = |word: &&str| {
        let is_denied = std::mem::replace(&mut is_after_without, *word == "without");
        is_denied || is_denial(word) || (word.len() > 1 && !is_common(word))
    };
    let content: Vec<&str> = words.filter(says).take(NAME_WORDS).collect();
    if content.is_empty() { plain } else { content.join(" ") }
}

/// Returns a title for a topic with this statement, unless its name says the same.
fn title(sentence: &str, name: &Name) -> Option<String> {
    let (own, words) = (self::name(sentence), name_words(sentence));
    // The name may have a number. A topic keeps the name of a statement that was replaced, because links and earlier
    // versions have that name.
    if name.as_str().starts_with(own.as_str()) {
        return Name::title_with_letters(&words);
    }
    Some(Name::title_of(&words))
}

/// Removes a request such as "remember that" from a statement.
pub fn without_request(sentence: &str) -> &str {
    let wishes = &TABLE.wishes;
    let says = |text: &str| text.chars().any(char::is_alphanumeric);
    let start = wishes.before.as_ref().and_then(|before| before.find(sentence));
    let rest = start.and_then(|found| sentence.get(found.end()..)).filter(|rest| says(rest));
    let rest = rest.unwrap_or(sentence);
    let end = wishes.after.as_ref().and_then(|after| after.find(rest));
    end.and_then(|found| rest.get(..found.start())).filter(|rest| says(rest)).unwrap_or(rest)
}

pub fn topic(taught: &TaughtSentence<'_>, name: &Name, source: &Source) -> String {
    let head = Header {
        name: Some(title(taught.sentence, name).unwrap_or_else(|| name.as_str().to_owned())),
        description: Some(description(taught.sentence)),
        kind: Some(taught.lesson.kind()),
        modified: Some(source.time.clone()),
        source: Some(source.clone()),
        ..Header::default()
    };
    let day = day(&source.time);
    let (said, how) = (quoted(taught.sentence), taught.lesson.apply());
    header::write(&head, &format!("{said}\n\nThe user said so on {day}. How to apply: {how}\n"))
}

/// Replaces the statement of a topic. Lines that a person added remain below it.
pub fn replaced(known: &str, taught: &TaughtSentence<'_>, name: &Name, source: &Source) -> String {
    let old = header::read(known);
    let new = topic(taught, name, source).trim_end().to_owned();
    // The questions are about the matter, which stays the same.
    let questions = HeaderChange::Questions(&old.header.questions);
    let new = header::with(&new, &[questions]).unwrap_or(new);
    let earlier = old.header.description.map(|said| {
        let day = old.header.source.map(|source| format!(" on {}", day(&source.time)));
        format!(" Before that, this memory said{}: {said}", day.unwrap_or_default())
    });
    let is_kept = |line: &&str| !line.starts_with('>') && !is_frame(line);
    let own: Vec<&str> = old.body.lines().filter(is_kept).collect();
    let own = own.join("\n");
    let own = own.trim();
    let own = if own.is_empty() { String::new() } else { format!("\n{own}\n") };
    format!("{new}{}\n{own}", earlier.unwrap_or_default())
}

/// Adds a newer statement to an existing topic. No text of the topic's body is removed, except how to apply the earlier
/// statements.
pub fn continued(
    text: &str,
    taught: &TaughtSentence<'_>,
    name: &Name,
    source: &Source,
) -> Result<String, Unchangeable> {
    let description = description(taught.sentence);
    let mut whole = source.clone();
    if let Some(before) = header::read(text).header.source
        && before.session == source.session
    {
        whole.messages = before.messages;
        whole.messages.extend(source.messages.iter().cloned());
        whole.messages.dedup();
    }
    let title = title(taught.sentence, name).unwrap_or_else(|| name.as_str().to_owned());
    let changes = [
        HeaderChange::Name(&title),
        HeaderChange::Description(&description),
        HeaderChange::Modified(&source.time),
        HeaderChange::Source(&whole),
    ];
    let text = header::with(text, &changes)?;
    let body = header::read(&text).body;
    let head = text.get(..text.len() - body.len()).unwrap_or_default();
    let earlier: Vec<&str> = body.trim_end().lines().map(without_how).collect();
    let (day, how) = (day(&source.time), taught.lesson.apply());
    let said = format!(
        "The user said so on {day}. If this statement contradicts the text above, follow this \
         statement. How to apply: {how}"
    );
    Ok(format!("{head}{}\n\n{}\n\n{said}\n", earlier.join("\n"), quoted(taught.sentence)))
}

/// Removes from a line that explains a statement how to apply it.
fn without_how(line: &str) -> &str {
    let how = line.find(" How to apply:").filter(|_| is_frame(line));
    how.and_then(|at| line.get(..at)).unwrap_or(line)
}

/// Shortens a sentence to one line, without words such as "remember that".
pub fn description(sentence: &str) -> String {
    text::shorten_at_word(&text::one_line(without_request(sentence)), DESCRIPTION_CHARS)
}

/// Returns a sentence as a Markdown quotation.
pub fn quoted(sentence: &str) -> String {
    let lines: Vec<String> = sentence.lines().map(|line| format!("> {}", line.trim())).collect();
    lines.join("\n")
}

/// Whether a line of a topic only explains the statement before it.
pub fn is_frame(line: &str) -> bool {
    ["The user said so on ", REWORDED, "How to apply:"].iter().any(|start| line.starts_with(start))
}

/// Formats a time as RFC 3339.
pub fn time(at: UnixMicros) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| String::new(), |time| time.to_string())
}

/// Parses a time in RFC 3339 format.
pub fn parse_time(time: &str) -> Option<UnixMicros> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(UnixMicros(time.as_microsecond()))
}

/// Returns the day of an RFC 3339 time.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_the_negation() {
        let check = |sentence: &str, expect: &str| {
            assert_eq!(name(sentence).as_str(), expect, "{sentence}");
        };
        check("never push to main", "never-push-main");
        check("Never push to main without asking.", "never-push-main-without-asking");
        check("don't add emojis to commit messages", "dont-add-emojis-commit-messages");
        check("we no longer use npm here, we use bun", "no-longer-use-npm-use-bun");
        check("Please remember: sign every commit.", "sign-commit");
        check("I'm a data scientist", "data-scientist");
        check("from now on, use pnpm for installs", "use-pnpm-installs");
    }

    #[test]
    fn a_description_leaves_out_the_request() {
        let check = |sentence: &str, expect: &str| assert_eq!(description(sentence), expect);
        check("please remember: the vendor closes at five", "the vendor closes at five");
        check("Remember that the importer runs twice.", "the importer runs twice.");
        check("Remember: don't push to main", "don't push to main");
        check("Keep in mind for the future that it is slow", "it is slow");
        check("Remember to sign every tag", "sign every tag");
        check("Remember this: the demo is late", "the demo is late");
        check("Remember this project has no CI", "this project has no CI");
        check("Don't forget that staging is shared", "staging is shared");
        check("The backups are on hp-9, please remember that.", "The backups are on hp-9");
        check("Merk dir: die Backups liegen auf hp-9", "die Backups liegen auf hp-9");
        check("Vergiss nicht, dass der Import langsam ist.", "der Import langsam ist.");
        check("Die Backups liegen auf hp-9, merk dir das bitte!", "Die Backups liegen auf hp-9");
        check("Souviens-toi que la démo est vendredi", "la démo est vendredi");
        check("覚えておいて：本番はtokyo-7です。", "本番はtokyo-7です。");
        check("本番はtokyo-7ということを覚えておいてください。", "本番はtokyo-7");
        check("请记住我们用 pnpm", "我们用 pnpm");
        check("Never push to main.", "Never push to main.");
        check("We never forget a password", "We never forget a password");
        check("覚えておいて。", "覚えておいて。");
        check("remember", "remember");
    }
}
