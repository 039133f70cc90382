//! A request to OpenAI's Responses API.

mod convert;
mod rewrite;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bethink_model_http::responses::{ItemSpeaker, ResponseItem};
use bethink_model_http::{Provider, WireFormat};
use bethink_transcript::json::{decode_string, encode_string};
use bytes::Bytes;
use serde_json::value::RawValue;

use crate::conversation::{ChainedHistory, PromptPart};
use crate::envelope::{
    self, GatewayWire, InputItems, Members, WireEnvelope, input_items, position,
};
use convert::{ConvertedMessage, converted, item_of};

/// Types of items whose content or effect only the provider knows. A request with such an item is not recorded.
const OPAQUE: [&str; 2] = ["item_reference", "compaction_trigger"];

#[derive(Debug)]
pub(crate) struct ResponsesWire {
    /// Number of items at the beginning that are instructions.
    heads: usize,
    system: Option<String>,
    converted: Vec<ConvertedMessage>,
    /// ID of the answer that the request continues, and its range in the body.
    previous: Option<(String, Range<usize>)>,
    /// The conversation up to and including that answer.
    history: Option<ChainedHistory>,
    /// Whether the provider keeps the answer, so that a later request can continue it by its ID.
    is_stored: bool,
}

pub(super) type ResponsesEnvelope = WireEnvelope<ResponsesWire>;

impl GatewayWire for ResponsesWire {
    const PROVIDER: Provider = Provider::OpenAi;

    fn format(_: &ResponsesEnvelope) -> WireFormat {
        WireFormat::Responses
    }

    fn conversation(body: &Bytes, members: &Members<'_>) -> Option<(Vec<Bytes>, Range<usize>)> {
        input_items(body, members)
    }

    fn read(body: &Bytes, members: &Members<'_>) -> Option<Self> {
        // With `conversation`, the provider adds earlier messages that are not known here.
        members.conversation.is_none_or(|raw| raw.get() == "null").then_some(())?;
        let (raw, _) = input_items(body, members)?;
        // A string is valid as the whole input, but not as an item of a list.
        let is_list = matches!(members.input, Some(InputItems::Items(_)));
        if is_list && raw.iter().any(|item| item.starts_with(b"\"")) {
            return None;
        }
        let raw: Vec<Cow<'_, str>> = raw.iter().map(item_of).collect::<Option<_>>()?;
        let items: Vec<ResponseItem<'_>> =
            raw.iter().map(|item| ResponseItem::read(item)).collect::<Option<_>>()?;
        if items.iter().any(|item| OPAQUE.contains(&item.kind())) {
            return None;
        }
        let previous = members.previous_response_id.map(RawValue::get);
        let previous = previous.filter(|id| id.starts_with('"') && *id != "\"\"");
        let is_head = |item: &&ResponseItem<'_>| {
            previous.is_none() && item.speaker() == ItemSpeaker::Instructions
        };
        let heads = items.iter().take_while(is_head).count();
        let (head, rest) = items.split_at(heads);
        let instructions = members.instructions.map(RawValue::get).filter(|raw| *raw != "null");
        let texts = instructions.into_iter().chain(head.iter().filter_map(ResponseItem::content));
        let texts: Vec<String> = texts.map(envelope::text).collect();
        Some(Self {
            heads,
            system: (!texts.is_empty()).then(|| texts.join("\n\n")),
            converted: converted(rest, heads)?,
            previous: previous.map(|id| (decode_string(id).into_owned(), position(body, id))),
            history: None,
            is_stored: members.store.is_none_or(|raw| raw.get() != "false"),
        })
    }

    fn system(request: &ResponsesEnvelope) -> Option<String> {
        request.wire.system.clone()
    }

    fn messages(request: &ResponsesEnvelope) -> Vec<Bytes> {
        let own = request.wire.converted.iter().map(|message| message.json.clone());
        request.wire.earlier().iter().cloned().chain(own).collect()
    }

    fn edits(
        request: &ResponsesEnvelope,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Vec<(Range<usize>, String)>> {
        let wire = &request.wire;
        let heads = wire.history.iter().flat_map(|history| history.heads.iter());
        let mut parts: Vec<Cow<'_, str>> = heads.map(|head| Cow::Borrowed(head.as_str())).collect();
        parts.extend(request.items(0..wire.heads)?);
        parts.extend(system_added.map(|added| {
            let text = encode_string(added);
            Cow::Owned(format!(r#"{{"type":"message","role":"developer","content":{text}}}"#))
        }));
        parts.extend(request.kept(pieces)?);
        for piece in pieces {
            match piece {
                PromptPart::Client(index) => parts.extend(request.own_items(*index)?),
                PromptPart::Written(message) => parts.extend(request.written_items(message)?),
            }
        }
        let mut edits = vec![(request.messages_at.clone(), format!("[{}]", parts.join(",")))];
        // The input now contains the whole conversation, so it no longer continues another answer.
        edits.extend(wire.previous.iter().map(|(_, at)| (at.clone(), "null".to_owned())));
        Some(edits)
    }

    fn previous(request: &ResponsesEnvelope) -> Option<&str> {
        request.wire.previous.as_ref().map(|(id, _)| id.as_str())
    }

    fn precede(request: &mut ResponsesEnvelope, history: ChainedHistory) {
        let heads = history.heads.iter().filter_map(|head| ResponseItem::read(head)?.content());
        let texts = heads.map(envelope::text).chain(request.wire.system.take());
        let texts: Vec<String> = texts.collect();
        request.wire.system = (!texts.is_empty()).then(|| texts.join("\n\n"));
        request.wire.history = Some(history);
    }

    fn history(request: &ResponsesEnvelope) -> Option<&ChainedHistory> {
        request.wire.history.as_ref()
    }

    fn chain_heads(request: &ResponsesEnvelope) -> Option<Arc<[String]>> {
        let wire = &request.wire;
        match &wire.history {
            _ if !wire.is_stored => None,
            Some(history) => Some(Arc::clone(&history.heads)),
            None => {
                let heads = request.items(0..wire.heads)?;
                Some(heads.into_iter().map(Cow::into_owned).collect())
            }
        }
    }
}

impl ResponsesWire {
    /// Returns the messages up to and including the answer that the request continues.
    fn earlier(&self) -> &[Bytes] {
        self.history.as_ref().map_or(&[], |history| &history.messages)
    }
}

#[cfg(test)]
mod tests;
