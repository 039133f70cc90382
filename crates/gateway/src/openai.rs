//! A request to OpenAI's chat completions API.

mod convert;

use std::borrow::Cow;
use std::ops::Range;

use bethink_model_http::{Provider, WireFormat, chat_messages};
use bethink_transcript::json::encode_string;
use bytes::Bytes;

use crate::conversation::PromptPart;
use crate::envelope::{GatewayWire, Members, WireEnvelope};
use convert::ChatMessage;

#[derive(Debug)]
pub(crate) struct OpenAiWire {
    /// Number of messages at the beginning that make up the system prompt.
    heads: usize,
    /// Role of the last message of the system prompt: `system`, or `developer` for newer models.
    head_role: String,
    system: Option<String>,
    /// The other messages in the format of the Messages API, each with the range of client messages that it was made
    /// from.
    converted: Vec<(Bytes, Range<usize>)>,
}

type OpenAiEnvelope = WireEnvelope<OpenAiWire>;

impl GatewayWire for OpenAiWire {
    const PROVIDER: Provider = Provider::OpenAi;

    fn format(_: &OpenAiEnvelope) -> WireFormat {
        WireFormat::ChatCompletions
    }

    fn read(_: &Bytes, members: &Members<'_>) -> Option<Self> {
        let messages = members.messages.as_ref()?.iter();
        let said: Vec<ChatMessage<'_>> =
            messages.map(|raw| ChatMessage::read(raw)).collect::<Option<_>>()?;
        let heads = said.iter().take_while(|said| said.is_head()).count();
        let (head, rest) = said.split_at(heads);
        let texts: Vec<String> = head.iter().map(ChatMessage::text).collect();
        Some(Self {
            heads,
            head_role: head.last().map_or("system", |said| said.role()).to_owned(),
            system: (!texts.is_empty()).then(|| texts.join("\n\n")),
            converted: convert::converted(rest, heads)?,
        })
    }

    fn system(request: &OpenAiEnvelope) -> Option<String> {
        request.wire.system.clone()
    }

    fn messages(request: &OpenAiEnvelope) -> Vec<Bytes> {
        request.wire.converted.iter().map(|(message, _)| message.clone()).collect()
    }

    fn edits(
        request: &OpenAiEnvelope,
        system_added: Option<&str>,
        pieces: &[PromptPart],
    ) -> Option<Vec<(Range<usize>, String)>> {
        let OpenAiWire { heads, head_role, converted, .. } = &request.wire;
        let mut parts: Vec<Cow<'_, str>> = request.originals(0..*heads)?;
        parts.extend(system_added.map(|added| {
            let (role, text) = (encode_string(head_role), encode_string(added));
            Cow::Owned(format!(r#"{{"role":{role},"content":{text}}}"#))
        }));
        for piece in pieces {
            match piece {
                PromptPart::Client(index) => {
                    parts.extend(request.originals(converted.get(*index)?.1.clone())?);
                }
                PromptPart::Written(written) => {
                    parts.push(Cow::Owned(chat_messages(&written.json)?));
                }
            }
        }
        Some(vec![(request.messages_at.clone(), format!("[{}]", parts.join(",")))])
    }
}

#[cfg(test)]
mod tests;
