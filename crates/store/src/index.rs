use bethink_transcript::{Seq, SessionId};

use crate::message::Terms;

/// Terms of messages that are stored: they come without, so that nobody waits for an analysis.
#[derive(Clone, Debug)]
pub struct IndexBatch {
    pub session: SessionId,
    /// In ascending order of seq. Those of messages that are indexed already are left out.
    pub entries: Vec<(Seq, Terms)>,
    /// All messages up to here count as indexed from now on, those without an entry as wordless.
    pub through: Seq,
}
