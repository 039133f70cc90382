//! How things look: the window, a compaction, a message. Values in, [`Text`] out.
//!
//! [`Text`]: crate::screen::Text

pub(crate) mod compaction;
pub(crate) mod dream;
pub(crate) mod event;
pub(crate) mod facts;
pub(crate) mod hit;
pub(crate) mod instructions;
pub(crate) mod memory;
pub(crate) mod message;
pub(crate) mod played;
pub(crate) mod recalled;
pub(crate) mod usage;
pub(crate) mod window;
