//! Reads the answer to one of bethink's own calls, within its size limit. A response without a success status is an
//! error.

use bethink_model::ModelError;
use bytes::Bytes;

use crate::forward::ResponseStream;
use crate::head::encoding;
use crate::limits::MAX_REFUSAL;
use crate::trouble::{ProviderRefusal, ProviderTrouble};

/// A successful answer.
pub(crate) struct IncomingAnswer {
    pub(crate) response: ResponseStream,
    /// Maximum size, in bytes.
    most: usize,
    /// Bytes received so far.
    pub(crate) taken: usize,
}

impl IncomingAnswer {
    pub(crate) async fn admitted(
        response: ResponseStream,
        most: usize,
    ) -> Result<Self, Box<ModelError>> {
        let status = response.status;
        let mut incoming = Self { response, most, taken: 0 };
        let trouble = if let Some(encoding) = encoding(&incoming.response.headers) {
            let message = format!("the answer is compressed ({encoding}), which was not requested");
            match status.is_success() {
                true => ProviderTrouble::broken(message),
                false => ProviderTrouble::Refused(ProviderRefusal {
                    message,
                    ..ProviderRefusal::default()
                }),
            }
        } else if status.is_success() {
            return Ok(incoming);
        } else {
            ProviderTrouble::Refused(ProviderRefusal::of_body(&incoming.beginning().await))
        };
        Err(incoming.explained(trouble))
    }

    pub(crate) fn explained(&self, trouble: ProviderTrouble) -> Box<ModelError> {
        Box::new(trouble.explained(&self.response.head, self.response.key.as_deref()))
    }

    /// Returns the next bytes; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderTrouble> {
        let next = std::future::poll_fn(|context| self.response.poll_bytes(context)).await;
        let chunk = next.transpose()?;
        self.taken = self.taken.saturating_add(chunk.as_ref().map_or(0, Bytes::len));
        match self.taken > self.most {
            true => Err(ProviderTrouble::too_much("the answer", self.most)),
            false => Ok(chunk),
        }
    }

    /// Reads the whole body.
    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, ProviderTrouble> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Reads the beginning of an error response. If the response is cut off, its status is still reported.
    async fn beginning(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < MAX_REFUSAL
            && let Ok(Some(chunk)) = self.chunk().await
        {
            body.extend_from_slice(&chunk);
        }
        body.truncate(MAX_REFUSAL);
        body
    }
}
