//! What of a conversation is worth remembering when it is over.
