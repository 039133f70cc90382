//! What the wires want of the conversations; tests put a scripted one in their place.

use std::future::Future;

use bethink_service::Result;

use crate::conversation::{
    AnswerTicket, GatewayRequest, GatewayService, PreparedPrompt, ProviderResponse, UpstreamPrompt,
};

/// Recognises sessions, keeps what is new, and says what goes up.
pub(crate) trait PromptPlanner: Clone + Send + Sync + 'static {
    /// What an answer is heard under.
    type Ticket: Send + Sync + 'static;

    fn prepare(
        &self,
        request: GatewayRequest,
    ) -> impl Future<Output = Result<PreparedPrompt<Self::Ticket>>> + Send;

    /// What [`PromptPlanner::prepare`] would say. Keeps nothing.
    fn count(&self, request: GatewayRequest)
    -> impl Future<Output = Result<UpstreamPrompt>> + Send;

    /// The upstream refused a prompt: a smaller one, under a ticket that takes the old one's place, or none.
    fn refused(
        &self,
        ticket: &Self::Ticket,
        status: u16,
        body: &str,
    ) -> impl Future<Output = Result<Option<PreparedPrompt<Self::Ticket>>>> + Send;

    /// The upstream took the prompt: it won't be refused any more.
    fn accepted(&self, ticket: &Self::Ticket);

    /// Takes an answer in, once for each ticket. Returns at once.
    fn heard(&self, ticket: Self::Ticket, response: ProviderResponse);
}

impl PromptPlanner for GatewayService {
    type Ticket = AnswerTicket;

    async fn prepare(&self, request: GatewayRequest) -> Result<PreparedPrompt> {
        self.prepare_prompt(request).await
    }

    async fn count(&self, request: GatewayRequest) -> Result<UpstreamPrompt> {
        self.count_prompt(request).await
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

    fn heard(&self, ticket: AnswerTicket, response: ProviderResponse) {
        self.take_answer(ticket, response);
    }
}
