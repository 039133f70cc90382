//! A request of chat completions.

mod turn;

use std::borrow::Cow;
use std::ops::Range;

use bethink_daemon::{Piece, Told};
use bethink_model_http::chat_messages;
use bethink_transcript::json::encode_string;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::asker::{Asker, Named};
use crate::envelope::{self, Envelope, array_place, place, splice};
use crate::wire::Wire;
use turn::Said;

#[derive(Debug)]
pub(crate) struct OpenAi {
    body: Bytes,
    model: String,
    max_output: Option<u64>,
    /// The client's messages as they came.
    raw: Vec<Bytes>,
    messages_at: Range<usize>,
    /// So many of them, from the first, are the system prompt.
    heads: usize,
    /// The role of the last of those: newer models call it `developer`.
    head_role: String,
    system: Option<String>,
    /// The rest in our vocabulary, each with the client's messages that it was made from.
    turned: Vec<(Bytes, Range<usize>)>,
    tools: Option<Box<RawValue>>,
    metadata: Option<Box<RawValue>>,
    prompt_cache_key: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    prompt_cache_key: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_completion_tokens: Option<&'a RawValue>,
}

impl Envelope for OpenAi {
    const WIRE: Wire = Wire::OpenAi;

    fn read(body: &Bytes) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let members: Members<'_> = serde_json::from_str(text).ok()?;
        let messages_at = array_place(body, &members.messages)?;
        let said: Vec<Said<'_>> =
            members.messages.iter().map(|raw| Said::read(raw)).collect::<Option<_>>()?;
        let heads = said.iter().take_while(|said| said.is_head()).count();
        let (head, rest) = said.split_at(heads);
        let texts: Vec<String> = head.iter().map(Said::text).collect();
        let head_role = head.last().map_or("system", |said| said.role()).to_owned();
        let limit = members.max_completion_tokens.or(members.max_tokens);
        Some(Self {
            model: members.model.unwrap_or_default().into_owned(),
            max_output: limit.and_then(|raw| raw.get().parse().ok()),
            raw: members.messages.iter().map(|raw| body.slice(place(body, raw.get()))).collect(),
            messages_at,
            heads,
            head_role,
            system: (!texts.is_empty()).then(|| texts.join("\n\n")),
            turned: turn::turned(rest, heads)?,
            tools: members.tools.map(RawValue::to_owned),
            metadata: members.metadata.map(RawValue::to_owned),
            prompt_cache_key: members.prompt_cache_key.map(RawValue::to_owned),
            body: body.clone(),
        })
    }

    fn named(&self) -> Named<'_> {
        Named {
            metadata: self.metadata.as_deref(),
            prompt_cache_key: self.prompt_cache_key.as_deref(),
        }
    }

    fn told(&self, asker: Asker) -> Told {
        Told {
            entrance: Wire::OpenAi.name(),
            model: self.model.clone(),
            max_output: self.max_output,
            session: asker.session,
            client: asker.client,
            project_dir: asker.project_dir,
            system: self.system.clone(),
            tools: self.tools.clone(),
            messages: self.turned.iter().map(|(message, _)| message.clone()).collect(),
            body_bytes: self.body.len(),
            inject: asker.inject,
        }
    }

    fn changed(&self, system_added: Option<&str>, pieces: &[Piece]) -> Option<Bytes> {
        let mut parts: Vec<Cow<'_, str>> = self.originals(0..self.heads)?;
        parts.extend(system_added.map(|added| {
            let (role, text) = (encode_string(&self.head_role), encode_string(added));
            Cow::Owned(format!(r#"{{"role":{role},"content":{text}}}"#))
        }));
        for piece in pieces {
            match piece {
                Piece::Client(index) => {
                    parts.extend(self.originals(self.turned.get(*index)?.1.clone())?);
                }
                Piece::Written(message) => parts.push(Cow::Owned(chat_messages(message)?)),
            }
        }
        splice(&self.body, &[(self.messages_at.clone(), format!("[{}]", parts.join(",")))])
    }
}

impl OpenAi {
    fn originals(&self, range: Range<usize>) -> Option<Vec<Cow<'_, str>>> {
        let raw = self.raw.get(range)?.iter();
        raw.map(|message| std::str::from_utf8(message).ok().map(Cow::Borrowed)).collect()
    }
}

/// What a client says in a system prompt, as text.
fn text_of(content: Option<&RawValue>) -> String {
    content.map(|content| envelope::text(content.get())).unwrap_or_default()
}

#[cfg(test)]
mod tests;
