//! Writes the text of a topic from a candidate: the user's own words, and when and where they were said.

use bethink_extractor::embedded::draft::{self, REWORDED};
use bethink_memdir::{Header, MemoryKind, Name, Source, header};
use bethink_service::rfc3339;
use bethink_store::StoredCandidate;
use bethink_transcript::UnixMicros;

/// The parts of a topic that are not the user's own words.
#[derive(Debug, Default)]
pub(super) struct TopicWording<'a> {
    /// The statement in other words.
    pub(super) text: Option<&'a str>,
    pub(super) description: Option<&'a str>,
    pub(super) questions: Vec<String>,
    pub(super) kind: Option<MemoryKind>,
    /// Who wrote `text`, and when.
    pub(super) by: Option<(&'static str, UnixMicros)>,
}

/// Returns the topic's text, its description and its source. `said` are statements with the same meaning, newest first.
/// The text depends only on the arguments, so writing it again after a crash changes nothing.
pub(super) fn topic(
    said: &[&StoredCandidate],
    wording: &TopicWording<'_>,
) -> Option<(String, String, Source)> {
    let newest = said.first()?;
    let text = wording.text.map(str::trim).filter(|text| !text.is_empty());
    let first = text.unwrap_or(&newest.sentence);
    let description = draft::description(wording.description.unwrap_or(first));
    // The time of a text in other words is not the time of the statement.
    let (strategy, written_at) = match wording.by.filter(|_| text.is_some()) {
        Some((by, at)) => (by, at),
        None => (draft::STRATEGY, newest.said_at),
    };
    let source = Source {
        session: newest.session.to_string(),
        messages: vec![newest.seq.0.to_string()],
        strategy: strategy.to_owned(),
        time: rfc3339(newest.said_at),
        ..Source::default()
    };
    let head = Header {
        name: Name::title_with_letters(&description),
        description: Some(description.clone()),
        kind: Some(wording.kind.unwrap_or(newest.kind)),
        modified: Some(rfc3339(written_at)),
        source: Some(source.clone()),
        questions: wording.questions.clone(),
        recall: None,
        faults: Vec::new(),
    };
    let mut parts: Vec<String> = text.map(str::to_owned).into_iter().collect();
    if text.is_some() {
        let time = rfc3339(written_at);
        let day = time.split('T').next().unwrap_or(&time);
        parts.push(format!("{REWORDED}{day}, in place of this statement:"));
    }
    let mut quoted: Option<&str> = None;
    for one in said {
        if quoted != Some(&one.sentence) {
            parts.push(draft::quoted(&one.sentence));
        }
        quoted = Some(&one.sentence);
        parts.push(origin(one, said.len() > 1));
    }
    Some((header::write(&head, &format!("{}\n", parts.join("\n\n"))), description, source))
}

/// Returns a line that says when a statement was made, and what preceded the statement. Extraction does not learn from
/// such lines.
fn origin(one: &StoredCandidate, names_session: bool) -> String {
    let time = rfc3339(one.said_at);
    let day = time.split('T').next().unwrap_or(&time);
    let place = match names_session {
        true => format!(" (session {}, message {})", one.session, one.seq),
        false => String::new(),
    };
    match one.context.as_deref().map(bethink_transcript::text::one_line) {
        Some(context) => format!("The user said so on {day}{place}, after: “{context}”"),
        None => format!("The user said so on {day}{place}."),
    }
}
