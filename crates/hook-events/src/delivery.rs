//! An event on its way to the daemon, and its file format in the spool.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::client::HookClient;
use crate::event::HookEvent;
use crate::input::HookInput;

/// Maximum number of deliveries in the spool, in case no daemon is running for a long time. The oldest are dropped first,
/// because a later event of a session refers to the same transcript.
pub const MAX_WAITING: usize = 1_000;
/// Maximum size of the spool, in bytes. A delivery is only an id, paths and the beginning of a prompt.
pub const MAX_WAITING_BYTES: u64 = 8 << 20;
/// Maximum size of a delivery's file, in bytes.
pub const MAX_DELIVERY_BYTES: u64 = 64 << 10;

const FORM: u32 = 1;
const EXTENSION: &str = ".json";

/// A client's event. Its ID ensures that it is handled only once, even if it is delivered twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    form: u32,
    /// A UUIDv7, so that IDs are in chronological order.
    pub id: Uuid,
    pub client: HookClient,
    pub event: HookEvent,
    pub input: HookInput,
}

impl Delivery {
    pub fn new(id: Uuid, client: HookClient, event: HookEvent, input: HookInput) -> Self {
        Self { form: FORM, id, client, event, input }
    }

    /// Returns the file's name. Names are in chronological order, like the IDs.
    pub fn file_name(&self) -> String {
        format!("{}{EXTENSION}", self.id)
    }

    /// Returns whether a file in the spool is a delivery, judging by its name. Other files are ignored.
    pub fn is_file_name(name: &str) -> bool {
        name.strip_suffix(EXTENSION).is_some_and(|id| Uuid::parse_str(id).is_ok())
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a delivery. Returns `None` if it is damaged or from a newer version.
    pub fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok().filter(|delivery: &Self| delivery.form == FORM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery() -> Delivery {
        let input = HookInput { session_id: Some("s".into()), ..HookInput::default() };
        Delivery::new(Uuid::from_u128(7), HookClient::ClaudeCode, HookEvent::Stop, input)
    }

    #[test]
    fn it_comes_back_as_it_was() {
        let one = delivery();
        assert_eq!(Delivery::read(one.to_json().as_bytes()), Some(one));
    }

    #[test]
    fn damage_and_newer_forms_are_passed_by() {
        let json = delivery().to_json();
        for damaged in
            ["", "{}", &json[..json.len() - 1], &json.replace("\"form\":1", "\"form\":2")]
        {
            assert_eq!(Delivery::read(damaged.as_bytes()), None, "{damaged}");
        }
    }

    #[test]
    fn names_say_whose_they_are() {
        assert!(Delivery::is_file_name(&delivery().file_name()));
        for name in ["", ".json", "notes.json", "x.tmp", "../a.json"] {
            assert!(!Delivery::is_file_name(name), "{name}");
        }
    }
}
