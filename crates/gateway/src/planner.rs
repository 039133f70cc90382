//! The interface between the wire formats and the conversations. Tests use a scripted planner.

use std::future::Future;

use bethink_service::Result;

use crate::conversation::{
    AnswerTicket, ChainedHistory, GatewayRequest, GatewayService, PreparedPrompt, ProviderResponse,
    UpstreamPrompt,
};

/// Finds the session of a request, stores the new messages, and makes the prompt to send.
pub(crate) trait PromptPlanner: Clone + Send + Sync + 'static {
    /// Identifies the request that an answer belongs to.
    type Ticket: Send + Sync + 'static;

    fn prepare(
        &self,
        request: GatewayRequest,
    ) -> impl Future<Output = Result<PreparedPrompt<Self::Ticket>>> + Send;

    /// Returns the prompt that [`PromptPlanner::prepare`] would make without a compaction, and stores nothing.
    fn count(&self, request: GatewayRequest)
    -> impl Future<Output = Result<UpstreamPrompt>> + Send;

    /// Returns the prompt of a request that must not be recorded; `None` if the request may be recorded.
    fn unrecorded(
        &self,
        _request: &GatewayRequest,
    ) -> impl Future<Output = Result<Option<UpstreamPrompt>>> + Send {
        async { Ok(None) }
    }

    /// Returns the conversation up to and including the answer with this ID; `None` if the answer is unknown.
    fn history_through(
        &self,
        answer: &str,
    ) -> impl Future<Output = Result<Option<ChainedHistory>>> + Send;

    /// Returns a smaller prompt after the provider has refused a prompt, and a ticket that replaces the old ticket;
    /// `None` if there is no smaller prompt.
    fn refused(
        &self,
        ticket: &Self::Ticket,
        status: u16,
        body: &str,
    ) -> impl Future<Output = Result<Option<PreparedPrompt<Self::Ticket>>>> + Send;

    /// Records that the provider accepted the prompt and can no longer refuse it.
    fn accepted(&self, ticket: &Self::Ticket);

    /// Stores an answer in the background. Called once for each ticket.
    fn answered(&self, ticket: Self::Ticket, response: ProviderResponse);
}

impl PromptPlanner for GatewayService {
    type Ticket = AnswerTicket;

    async fn prepare(&self, request: GatewayRequest) -> Result<PreparedPrompt> {
        self.prepare_prompt(request).await
    }

    async fn count(&self, request: GatewayRequest) -> Result<UpstreamPrompt> {
        self.count_prompt(request).await
    }

    async fn unrecorded(&self, request: &GatewayRequest) -> Result<Option<UpstreamPrompt>> {
        if self.records_everything() {
            return Ok(None);
        }
        self.unrecorded_prompt(request.clone()).await
    }

    async fn history_through(&self, answer: &str) -> Result<Option<ChainedHistory>> {
        GatewayService::history_through(self, answer).await
    }

    async fn refused(
        &self,
        ticket: &AnswerTicket,
        status: u16,
        body: &str,
    ) -> Result<Option<PreparedPrompt>> {
        self.smaller_prompt(ticket, status, body).await
    }

    fn accepted(&self, ticket: &AnswerTicket) {
        ticket.accepted();
    }

    fn answered(&self, ticket: AnswerTicket, response: ProviderResponse) {
        self.take_answer(ticket, response);
    }
}
