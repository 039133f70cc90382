//! Returns parts of a message's text, so that a large tool result can be read piece by piece.

use std::ops::Range;

use bethink_api as api;
use bethink_context::placeholder::PART_BYTES;
use bethink_service::{Result, ServiceError, parse_stored};
use bethink_store::SeqRange;
use bethink_transcript::{BlockKind, Message, Seq, SessionId};

use crate::service::SessionService;

impl SessionService {
    /// Returns a part of a message's text, at most [`PART_BYTES`].
    pub async fn message_text(
        &self,
        id: SessionId,
        query: &api::TextQuery,
    ) -> Result<api::MessageText> {
        let after = Some(Seq(query.seq.saturating_sub(1)));
        let range = SeqRange { after, limit: 1, ..SeqRange::all() };
        self.cx.store().session(id).await?;
        let stored = self.cx.store().messages(id, range).await?.pop();
        let Some(stored) = stored.filter(|stored| stored.seq.0 == query.seq) else {
            let detail = format!("the session has no message {}", query.seq);
            return Err(ServiceError::not_found(detail));
        };
        let whole = text_of(&parse_stored(stored)?, query.call.as_deref())?;
        let asked = match (&query.bytes, &query.lines) {
            (Some(_), Some(_)) => {
                return Err(ServiceError::invalid("lines", "cannot be combined with `bytes`"));
            }
            (Some(bytes), None) => bytes_of(&whole, parse("bytes", bytes)?),
            (None, Some(lines)) => lines_of(&whole, parse("lines", lines)?),
            (None, None) => 0..whole.len(),
        };
        let part = limited(&whole, asked);
        let next = (part.end < whole.len()).then_some(part.end as u64);
        Ok(api::MessageText {
            seq: query.seq,
            first_byte: part.start as u64,
            next_byte: next,
            bytes: whole.len() as u64,
            lines: whole.lines().count() as u64,
            text: whole.get(part).unwrap_or_default().to_owned(),
        })
    }
}

/// Returns the text of all blocks, or of one call and its result.
fn text_of(message: &Message, call: Option<&str>) -> Result<String> {
    let is_asked = |kind: &BlockKind| match (call, kind) {
        (None, _) => true,
        (Some(call), BlockKind::ToolUse { id, .. }) => id.as_str() == call,
        (Some(call), BlockKind::ToolResult { tool_use_id, .. }) => tool_use_id.as_str() == call,
        _ => false,
    };
    let blocks: Vec<_> = message.blocks.iter().filter(|block| is_asked(&block.kind)).collect();
    if let (Some(call), true) = (call, blocks.is_empty()) {
        let detail = format!(
            "message {} contains neither the tool call {call:?} nor its result",
            message.seq
        );
        return Err(ServiceError::invalid("call", detail));
    }
    let texts = blocks.iter().map(|block| match block.kind {
        BlockKind::ToolUse { .. } => block.input().into(),
        _ => block.text(),
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

/// Reads `A..B`; either number may be absent.
fn parse(field: &'static str, range: &str) -> Result<(Option<usize>, Option<usize>)> {
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        digits => digits.parse().map(Some),
    };
    let ends = range.split_once("..").map(|(from, to)| Ok((number(from)?, number(to)?)));
    match ends {
        Some(Ok(ends)) => Ok(ends),
        Some(Err::<_, std::num::ParseIntError>(_)) | None => {
            let detail = format!("{range:?} is not a range; write it as A..B, such as 2000..42000");
            Err(ServiceError::invalid(field, detail))
        }
    }
}

/// Returns the bytes of the characters in this range. A range inside one character becomes that character, so that a reader
/// that continues at `next_byte` always makes progress.
fn bytes_of(text: &str, (from, to): (Option<usize>, Option<usize>)) -> Range<usize> {
    let (from, to) = (from.unwrap_or(0), to.unwrap_or(text.len()));
    let start = text.floor_char_boundary(from);
    let end = text.floor_char_boundary(to);
    let end = if end <= start && from < to { text.ceil_char_boundary(to) } else { end };
    start..end.max(start)
}

/// Returns the bytes of lines `from` to `to`, counted from 1.
fn lines_of(text: &str, (from, to): (Option<usize>, Option<usize>)) -> Range<usize> {
    let after = |line: usize| {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        if line == 0 { 0 } else { ends.into_iter().nth(line - 1).unwrap_or(text.len()) }
    };
    let start = after(from.unwrap_or(1).saturating_sub(1));
    start..to.map_or(text.len(), after).max(start)
}

/// Cuts a range to the size of a part: at the end of a line, if that drops less than half of the part.
fn limited(text: &str, Range { start, end }: Range<usize>) -> Range<usize> {
    if end - start <= PART_BYTES {
        return start..end;
    }
    let end = text.floor_char_boundary(start + PART_BYTES);
    let line = text.get(start..end).and_then(|part| part.rfind('\n'));
    match line.filter(|at| *at >= PART_BYTES / 2) {
        Some(at) => start..start + at + 1,
        None => start..end,
    }
}

#[cfg(test)]
mod tests {
    use bethink_config::Settings;
    use serde_json::json;

    use super::*;
    use crate::tests::home::SessionsHome;

    #[tokio::test]
    async fn a_large_result_is_read_in_parts() {
        let directory = tempfile::tempdir().unwrap();
        let home = SessionsHome::open(Settings::at(directory.path())).await;
        let log: String = (1..=20_000).map(|n| format!("line {n} é\n")).collect();
        let result = |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": text });
        let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": id } });
        let id = home
            .session(&[
                json!({ "role": "user", "content": "go" }),
                json!({ "role": "assistant", "content": [call("a"), call("b")] }),
                json!({ "role": "user", "content": [result("a", "short"), result("b", &log)] }),
            ])
            .await;
        let ask = |call: Option<&str>, bytes: Option<&str>, lines: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            api::TextQuery { seq: 3, call: own(call), bytes: own(bytes), lines: own(lines) }
        };
        let read = |query: api::TextQuery| {
            let sessions = &home.sessions;
            async move { sessions.message_text(id, &query).await }
        };
        let part = read(ask(Some("b"), None, Some("7..9"))).await.unwrap();
        assert_eq!(part.text, "line 7 é\nline 8 é\nline 9 é\n");
        assert_eq!((part.bytes, part.lines), (log.len() as u64, 20_000));
        let mut whole = String::new();
        let mut next = Some(0);
        while let Some(from) = next {
            let part = read(ask(Some("b"), Some(&format!("{from}..")), None)).await.unwrap();
            assert!(part.text.len() <= PART_BYTES);
            whole.push_str(&part.text);
            next = part.next_byte;
        }
        assert_eq!(whole, log);
        assert_eq!(read(ask(None, Some("..5"), None)).await.unwrap().text, "short");
        // A range may begin within a character or after the end.
        assert_eq!(read(ask(Some("b"), Some("8..9"), None)).await.unwrap().text, "é");
        assert_eq!(read(ask(Some("a"), Some("99..200"), None)).await.unwrap().text, "");
        assert_eq!(read(ask(Some("a"), None, Some("99.."))).await.unwrap().text, "");
        let within = read(ask(Some("b"), Some("7..8"), None)).await.unwrap();
        assert_eq!((within.text.as_str(), within.next_byte), ("é", Some(9)));
        assert!(read(ask(Some("b"), Some("7..8"), Some("1..2"))).await.is_err());
        for (call, bytes) in [(Some("c"), None), (None, Some("5")), (None, Some("a..b"))] {
            assert!(read(ask(call, bytes, None)).await.is_err());
        }
        home.close().await;
    }
}
