//! Copies a client's request without its messages, for bethink's own calls.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bethink_prefix_match::{MessageReading, Speaker};
use bethink_sessions::{SentFrame, SentMark, SentRequest};
use bethink_transcript::{Origin, Seq, Variant};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::read_request::ReadRequest;
use crate::envelope::system_with;

impl ReadRequest {
    /// Returns the request as it is sent, with `added` after its system prompt.
    pub(super) fn sent(&self, added: Option<&str>) -> SentRequest {
        let own = &self.own;
        let system = String::from_utf8_lossy(&own.system);
        let system = match added {
            Some(added) => system_with(&system, added).map_or(system, Cow::Owned),
            None if system.is_empty() || system == "null" => Cow::Borrowed("[]"),
            None => system,
        };
        let frame = SentFrame {
            system: Bytes::from(system.into_owned()),
            tools: Bytes::from(self.parts.tools.clone()),
            parameters: if own.own_messages { own.parameters() } else { Bytes::new() },
            betas: own.betas.clone(),
            own_messages: own.own_messages,
        };
        let own = self.own_bytes(|_, given| given.clone());
        SentRequest { marks: self.breakpoints(), own, ..SentRequest::new(frame) }
    }

    /// Returns the messages whose stored bytes differ from the client's, without breakpoints.
    pub(super) fn unmarked_bytes(&self) -> BTreeMap<Seq, Bytes> {
        self.own_bytes(MessageReading::unmarked)
    }

    /// Returns the messages whose stored bytes differ from the client's: those with breakpoints or other roles, and
    /// answers, which are stored as the provider sent them.
    fn own_bytes(&self, form: fn(&MessageReading, &Bytes) -> Bytes) -> BTreeMap<Seq, Bytes> {
        if !self.own.own_messages {
            return BTreeMap::new();
        }
        let all = self.messages.iter().zip(&self.readings).zip(1..);
        let other = all.filter(|((given, reading), _)| {
            reading.speaker != Speaker::User || reading.breakpoint(given).is_some()
        });
        // Copied, because a slice would keep the whole body in memory.
        let copied = |bytes: Bytes| Bytes::copy_from_slice(&bytes);
        other.map(|((given, reading), seq)| (Seq(seq), copied(form(reading, given)))).collect()
    }

    fn breakpoints(&self) -> Vec<SentMark> {
        let all = self.messages.iter().zip(&self.readings).zip(1..);
        let marked = all.filter(|((given, reading), _)| reading.breakpoint(given).is_some());
        marked.flat_map(|((given, _), seq)| breakpoints_of(given, Seq(seq))).collect()
    }
}

fn breakpoints_of(message: &[u8], seq: Seq) -> Vec<SentMark> {
    #[derive(Deserialize)]
    struct MarkedMessage<'a> {
        #[serde(borrow)]
        content: Vec<MarkedBlock<'a>>,
    }
    #[derive(Deserialize)]
    struct MarkedBlock<'a> {
        #[serde(borrow)]
        cache_control: Option<&'a RawValue>,
    }
    let Ok(read) = serde_json::from_slice::<MarkedMessage<'_>>(message) else { return Vec::new() };
    let marked = read.content.iter().zip(0..).filter_map(|(block, at)| {
        let control = block.cache_control?.get().to_owned();
        let origin = Origin::Stored { seq, block: at, variant: Variant::Whole };
        Some(SentMark { origin, control })
    });
    marked.filter(|mark| mark.control != "null").collect()
}
