//! What the wires want of a memory.

use std::future::Future;

use bethink_daemon::{Daemon, Heard, Prompt, Result, Ticket, Told};

/// Recognises sessions, keeps what is new, and says what goes up.
pub trait Memory: Clone + Send + Sync + 'static {
    /// What an answer is heard under.
    type Ticket: Send + Sync + 'static;

    fn prepare(&self, told: Told) -> impl Future<Output = Result<Plan<Self::Ticket>>> + Send;

    /// What [`Memory::prepare`] would say. Keeps nothing.
    fn count(&self, told: Told) -> impl Future<Output = Result<Prompt>> + Send;

    /// The upstream refused a prompt: a smaller one, under a ticket that takes the old one's place, or none.
    fn refused(
        &self,
        ticket: &Self::Ticket,
        status: u16,
        body: &str,
    ) -> impl Future<Output = Result<Option<Plan<Self::Ticket>>>> + Send;

    /// The upstream took the prompt: it won't be refused any more.
    fn accepted(&self, ticket: &Self::Ticket);

    /// Takes an answer in, once for each ticket. Returns at once.
    fn heard(&self, ticket: Self::Ticket, heard: Heard);
}

#[derive(Clone, Debug)]
pub struct Plan<T> {
    pub ticket: T,
    pub prompt: Prompt,
}

impl Memory for Daemon {
    type Ticket = Ticket;

    async fn prepare(&self, told: Told) -> Result<Plan<Ticket>> {
        let prepared = self.gateway_prepare(told).await?;
        Ok(Plan { ticket: prepared.ticket, prompt: prepared.prompt })
    }

    async fn count(&self, told: Told) -> Result<Prompt> {
        self.gateway_count(told).await
    }

    async fn refused(
        &self,
        ticket: &Ticket,
        status: u16,
        body: &str,
    ) -> Result<Option<Plan<Ticket>>> {
        let next = self.gateway_refused(ticket, status, body).await?;
        Ok(next.map(|prepared| Plan { ticket: prepared.ticket, prompt: prepared.prompt }))
    }

    fn accepted(&self, ticket: &Ticket) {
        ticket.accepted();
    }

    fn heard(&self, ticket: Ticket, heard: Heard) {
        self.gateway_heard(ticket, heard);
    }
}
