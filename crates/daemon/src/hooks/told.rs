//! What a client's session was told of memory: nothing twice, as long as it is before the model's eyes.

use std::collections::BTreeSet;

use bethink_store::Kept;
use serde::{Deserialize, Serialize};

use super::{TOLD, Who};
use crate::{Daemon, Refusal, Result};

const KEY: &str = "told";

/// Memories by scope and name, and how much room they took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) names: BTreeSet<String>,
    pub(super) bytes: usize,
}

impl Daemon {
    pub(super) async fn told_to(&self, who: &Who) -> Result<Told> {
        let kept = self.store().kept(TOLD.to_owned(), owner(who)).await?;
        let told = kept.first().and_then(|kept| serde_json::from_str(&kept.value).ok());
        Ok(told.unwrap_or_default())
    }

    pub(super) async fn keep_told(&self, who: &Who, told: &Told) -> Result<()> {
        let kept = Kept {
            space: TOLD.to_owned(),
            owner: owner(who),
            key: KEY.to_owned(),
            value: serde_json::to_string(told).map_err(Refusal::internal)?,
            at: self.now(),
        };
        Ok(self.store().keep(kept).await?)
    }

    /// The conversation begins anew, and may be told anything again.
    pub(super) async fn forget_told(&self, who: &Who) -> Result<()> {
        self.store().forget_kept(TOLD.to_owned(), owner(who), KEY.to_owned()).await?;
        Ok(())
    }
}

fn owner((client, key): &Who) -> String {
    format!("{client}/{key}")
}
