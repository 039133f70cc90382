//! The time of a topic's last change, in its front matter. Unlike the file's modification time, it survives copying,
//! cloning and syncing.

use bethink_api::MemoryAuthor;
use bethink_memdir::header::{self, HeaderChange};
use bethink_memdir::{DirectoryFile, Header};
use bethink_service::{parse_rfc3339, rfc3339};
use bethink_transcript::UnixMicros;

use crate::memory_write::MemoryWrite;

/// Returns the newest time in a topic's front matter: that of its last change, or of its source.
pub(crate) fn recorded(header: &Header) -> Option<UnixMicros> {
    let source = header.source.as_ref().map(|source| source.time.as_str());
    header.modified.as_deref().into_iter().chain(source).filter_map(time).max()
}

/// Parses a time, or a date without a time.
fn time(text: &str) -> Option<UnixMicros> {
    parse_rfc3339(text).or_else(|| parse_rfc3339(&format!("{text}T00:00:00Z")))
}

/// Adds the time of the change to the topic's front matter. `before` is the file's current text.
///
/// A person's text is stored unchanged, unless its front matter records a time. That time would otherwise become wrong.
/// Text from a restored version, a sync or a dream is stored unchanged too: a dream does not make a statement newer.
pub(crate) fn stamped(write: MemoryWrite, before: Option<&str>, now: UnixMicros) -> MemoryWrite {
    let always = match write.author.by {
        MemoryAuthor::Agent | MemoryAuthor::Extraction => true,
        MemoryAuthor::Person => false,
        _ => return write,
    };
    let (Some(text), DirectoryFile::Topic(_)) = (&write.text, &write.file) else { return write };
    let text = with_time(text, before, now, always);
    MemoryWrite { text: text.or(write.text), ..write }
}

/// Keeps the topic's `recall` key in a text that extraction wrote: what a session said must neither pin a topic nor release it.
pub(crate) fn with_persons_recall(write: MemoryWrite, before: Option<&str>) -> MemoryWrite {
    let is_topic = matches!(write.file, DirectoryFile::Topic(_));
    match write.text {
        Some(text) if is_topic && write.author.by == MemoryAuthor::Extraction => {
            MemoryWrite { text: Some(header::with_recall(text, before)), ..write }
        }
        text => MemoryWrite { text, ..write },
    }
}

fn with_time(text: &str, before: Option<&str>, now: UnixMicros, always: bool) -> Option<String> {
    let new = header::read(text);
    let (old, time) = (before.map(|before| header::read(before).header), recorded(&new.header));
    let known = old.as_ref().and_then(recorded);
    let has_record = always || time.is_some() || known.is_some();
    if new.header_range.is_empty() || !has_record || before == Some(text) {
        return None;
    }
    // The writer set the time.
    if time.is_some() && (before.is_none() || time > known) {
        return None;
    }
    let at = |time: &str| header::with(text, &[HeaderChange::Modified(time)]).ok();
    // A text that differs only because its writer does not know the recorded time is not a change.
    let same = old.and_then(|old| at(old.modified.as_deref()?)).filter(|same| before == Some(same));
    same.or_else(|| at(&rfc3339(UnixMicros(now.0 - now.0.rem_euclid(1_000_000)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-05-04T10:00:00.5Z.
    const NOW: UnixMicros = UnixMicros(1_777_888_800_500_000);

    fn check(before: Option<&str>, text: &str, expect: &str) {
        let written = with_time(text, before, NOW, true);
        assert_eq!(written.as_deref().unwrap_or(text), expect);
    }

    #[test]
    fn a_change_has_its_time_in_the_front_matter() {
        let plain = "---\ndescription: fog\n---\n\nThick.\n";
        let dated = "---\ndescription: fog\nmodified: 2026-05-04T10:00:00Z\n---\n\nThick.\n";
        let older = "---\ndescription: fog\nmodified: 2026-01-01\n---\n\nThick.\n";
        check(None, plain, dated);
        check(Some("Thick.\n"), plain, dated);
        check(Some("---\ndescription: mist\nmodified: 2026-01-01\n---\n\nThick.\n"), older, dated);
        check(Some(older), older, older);
        check(Some(older), plain, older);
        check(Some(dated), older, dated);
        check(Some(older), dated, dated);
        check(None, older, older);
        check(None, "Thick.\n", "Thick.\n");
        let learned = "---\ndescription: fog\nsource:\n  time: 2026-03-02T09:00:00Z\n---\n";
        check(None, learned, learned);
        check(None, "---\n{a: b}\n---\n", "---\n{a: b}\n---\n");
        assert_eq!(with_time(plain, None, NOW, false), None, "a person's text stays");
        assert_eq!(with_time(plain, Some("Thin.\n"), NOW, false), None);
    }

    #[test]
    fn an_age_comes_from_the_record() {
        let of = |text: &str| recorded(&header::read(text).header).map(rfc3339);
        let day = |day: &str| Some(format!("{day}T00:00:00Z"));
        assert_eq!(of("---\nmodified: 2026-01-02\n---\n"), day("2026-01-02"));
        let both = "---\nmodified: 2026-01-02\nsource:\n  time: 2026-03-04T00:00:00Z\n---\n";
        assert_eq!(of(both), day("2026-03-04"));
        assert_eq!(of("---\nmodified: last week\n---\n"), None);
        assert_eq!(of("fog"), None);
    }
}
