//! The parts of a client's request that are not messages. bethink's own calls repeat these parts byte for byte.

use std::ops::Range;

use bethink_transcript::json;
use bytes::Bytes;

/// The parts of a body that are not messages. Each part is parsed only when it is needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestFrame {
    pub(crate) body: Bytes,
    /// The range of the messages in the body.
    pub(crate) messages_at: Range<usize>,
    /// The system prompt as JSON; empty if there is none.
    pub(crate) system: Bytes,
    pub(crate) betas: String,
    /// Whether the messages are in the format in which they are stored.
    pub(crate) own_messages: bool,
}

impl RequestFrame {
    /// Returns the other members of the request, such as `temperature`, as a JSON object.
    pub(super) fn parameters(&self) -> Bytes {
        const OTHERS: [&str; 6] = ["model", "max_tokens", "system", "tools", "messages", "stream"];
        let (before, after) =
            (self.body.get(..self.messages_at.start), self.body.get(self.messages_at.end..));
        // The messages are left out because they are most of the body.
        let rest = [before.unwrap_or_default(), b"[]", after.unwrap_or_default()].concat();
        let rest = String::from_utf8(rest).unwrap_or_default();
        let members = json::members(&rest).unwrap_or_default();
        let others = members.iter().filter(|(name, _)| !OTHERS.contains(&name.as_str()));
        let others: Vec<String> = others
            .map(|(name, value)| format!("{}:{}", json::encode_string(name), value.get()))
            .collect();
        match others.is_empty() {
            true => Bytes::new(),
            false => Bytes::from(format!("{{{}}}", others.join(","))),
        }
    }
}
