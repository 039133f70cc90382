//! A turn in a session: collects contributions, lets [`bethink_context::turn`] make the prompt, and stores its decisions
//! before it hands out the prompt.

use std::sync::Arc;

use bethink_api as api;
use bethink_compactor::Trigger;
use bethink_compactor::policy::{self, Policy};
use bethink_context::{
    Attachment, Decision, Decisions, HistoryEntry, NoPrompt, ProjectTexts, SessionState,
    SystemAndTools, Thresholds, Turn, TurnInputs, assemble, compacts_at, empty_report, reductions,
    turn,
};
use bethink_models::ClientModel;
use bethink_service::{ErrorKind, Event, Result, ServiceError};
use bethink_transcript::{Message, Seq, SessionId, UnixMicros};
use bytes::Bytes;

use crate::collapse::write_now;
use crate::compactions::CompactionRequest;
use crate::decisions::new_decisions;
use crate::handle::{SessionGuard, SessionHandle};
use crate::kept_state::plan_mode_change;
use crate::last_prompt::LastPrompt;
use crate::loaded::LoadedSession;
use crate::refill;
use crate::request::{ClientParts, Inject, Moment, PromptRequest, RecallQuery};
use crate::sent::SentRequest;
use crate::service::{SessionEvent, SessionService};

#[derive(Debug)]
pub struct TurnRequest<'a> {
    pub client: &'a ClientParts,
    pub inject: Inject,
    pub recall: RecallQuery,
    pub may_compact: bool,
    /// Whether the model is reminded of todos and notes.
    pub reminds: bool,
    /// The client's own model, if it writes the summaries.
    pub client_model: Option<ClientModel>,
    /// Whether the client's messages are sent unchanged while they fit.
    pub reduce_only_when_full: bool,
}

/// A prompt that can be handed out, because its decisions are durable.
#[derive(Debug)]
pub struct ReadyPrompt {
    pub loaded: SessionGuard,
    pub turn: Turn,
    pub around: SystemAndTools,
}

/// Callbacks of contributors that run when the decisions are durable.
type OnceKept = Vec<Box<dyn FnOnce() + Send>>;

/// System parts, tools and reminders from contributors.
struct GatheredParts {
    around: SystemAndTools,
    reminders: Vec<Attachment>,
    once_kept: OnceKept,
}

impl SessionService {
    /// Returns the body of the next model call: `{system, messages, tools, report}`.
    pub async fn prompt(&self, id: SessionId, mut request: api::ContextRequest) -> Result<Bytes> {
        let may_compact = request.compact != Some(api::PromptCompaction::Never)
            && self.cx.settings().context.auto_compact;
        let tools = request.tools.as_ref().map(|t| t.get());
        let client = ClientParts::new(request.system.take(), tools, request.touched_paths.take())?
            .with_parameters(request.parameters.as_deref())?;
        let inject = request.inject.unwrap_or_default();
        let handle = self.handle(id).await?;
        let loaded = self.lock(&handle).await?;
        loaded.require_messages("append the user's first message, then request the prompt")?;
        let recall = RecallQuery::new(request.query, request.recent_tools);
        let client_model = None;
        let asked = TurnRequest {
            client: &client,
            inject,
            recall,
            may_compact,
            reminds: true,
            client_model,
            reduce_only_when_full: false,
        };
        let ReadyPrompt { mut loaded, turn, around } = self.ready(&handle, loaded, asked).await?;
        let after_boundary = loaded.state.decisions.boundary.is_some();
        let body = assemble(&turn.prompt, &around.system, &around.tools, after_boundary);
        let sent = client.sent_request(&around).marked(&turn.prompt, &body.marks);
        let (system, tools) = (Bytes::from(body.system), Bytes::from(around.tools));
        let report = self.handed_out(&handle, &mut loaded, turn, sent);
        drop(loaded);
        self.finish_use(handle);
        join(&system, &body.messages, &tools, &report)
    }

    /// Makes a prompt that fits, and stores its decisions.
    pub async fn ready(
        &self,
        handle: &Arc<SessionHandle>,
        mut loaded: SessionGuard,
        asked: TurnRequest<'_>,
    ) -> Result<ReadyPrompt> {
        loaded.reduce_only_when_full = asked.reduce_only_when_full;
        let moment = Moment::Begin { reminds: asked.reminds };
        let GatheredParts { mut around, reminders, once_kept } =
            self.gather(handle, &loaded, &asked, moment).await?;
        loaded.state.fixed = around.tokens;
        loaded.last_request.begin(|| asked.client.sent_request(&around));
        loaded.breakers.turn();
        let make = || {
            let write = |stretch| write_now(&loaded.state, stretch);
            let collapse = self.collapse_policy(&write, &loaded);
            let inputs = self.inputs(&loaded, &around, reminders, asked.reminds);
            turn(&loaded.state, TurnInputs { collapse, ..inputs }, self.cx.now())
        };
        // Texts of spans that were not staged are written within the turn, which blocks the thread.
        let turn = match self.cx.settings().context.collapse {
            true => tokio::task::block_in_place(make),
            false => make(),
        };
        let mut turn = turn.map_err(no_prompt)?;
        let effective = loaded.state.thresholds.effective;
        loaded.state.learner.compare(turn.estimated, &turn.size, effective);
        let mut once_kept = once_kept;
        if asked.may_compact {
            let thrashing = loaded.breakers.thrashing(&self.limits.compact).map(|often| {
                format!("{often}; the context window is filled by {}", refill::causes(&turn))
            });
            match self.policy(handle, &loaded, turn.report.tokens) {
                Policy::Nothing => {}
                Policy::Held(reason) => {
                    turn.report.notices.push(thrashing.unwrap_or(reason));
                }
                Policy::Compact => {
                    self.keep(&mut loaded, &mut turn).await?;
                    once_kept.drain(..).for_each(|callback| callback());
                    (loaded, turn, around, once_kept) =
                        Box::pin(self.compact_in_turn(handle, loaded, turn, &asked)).await?;
                    turn.report.notices.extend(thrashing);
                }
            }
        }
        self.keep(&mut loaded, &mut turn).await?;
        once_kept.into_iter().for_each(|callback| callback());
        if turn.report.tokens >= loaded.state.thresholds.blocking {
            return Err(overflow(&turn.report));
        }
        Ok(ReadyPrompt { loaded, turn, around })
    }

    /// Asks every contributor, and puts system, tools and reminders together.
    async fn gather(
        &self,
        handle: &Arc<SessionHandle>,
        loaded: &LoadedSession,
        asked: &TurnRequest<'_>,
        moment: Moment,
    ) -> Result<GatheredParts> {
        let TurnRequest { client, inject, recall, .. } = asked;
        let request = PromptRequest { handle, loaded, client, inject: *inject, recall, moment };
        let mut texts = ProjectTexts::default();
        let mut reminders = Vec::from_iter(plan_mode_change(loaded));
        let mut once_kept = Vec::new();
        for contributor in self.contributors() {
            let contribution = contributor.contribute(request).await?;
            texts.instructions = texts.instructions.or(contribution.system.instructions);
            texts.memory = texts.memory.or(contribution.system.memory);
            reminders.extend(contribution.reminders);
            once_kept.extend(contribution.once_kept);
        }
        let around =
            SystemAndTools::new(&client.parts, client.tools.clone(), texts).map_err(|unknown| {
                let field = format!("system[{}].part", unknown.index);
                ServiceError::invalid(field, unknown.to_string())
            })?;
        Ok(GatheredParts { around, reminders, once_kept })
    }

    /// Returns the system parts and tools of a prompt that begins now.
    pub async fn around(
        &self,
        handle: &Arc<SessionHandle>,
        loaded: &LoadedSession,
        client: &ClientParts,
        inject: Inject,
    ) -> Result<SystemAndTools> {
        let asked = TurnRequest {
            client,
            inject,
            recall: RecallQuery::default(),
            may_compact: false,
            reminds: false,
            client_model: None,
            reduce_only_when_full: loaded.reduce_only_when_full,
        };
        let gathered = self.gather(handle, loaded, &asked, Moment::Look).await?;
        Ok(gathered.around)
    }

    /// Returns the inputs of a turn of this session, without collapse.
    fn inputs<'a>(
        &'a self,
        loaded: &LoadedSession,
        around: &'a SystemAndTools,
        reminders: Vec<Attachment>,
        todos: bool,
    ) -> TurnInputs<'a> {
        TurnInputs {
            around,
            reminders,
            todos,
            limits: &self.limits.stages,
            reduce_only_when_full: loaded.reduce_only_when_full,
            collapses: self.cx.settings().context.collapse,
            collapse: None,
            cache: loaded.cache.report(),
            before: Vec::new(),
            compaction: None,
        }
    }

    /// Records the prompt that is handed out, and publishes it.
    pub fn handed_out(
        &self,
        handle: &Arc<SessionHandle>,
        loaded: &mut SessionGuard,
        turn: Turn,
        sent: SentRequest,
    ) -> api::ContextReport {
        let Turn { prompt, shape, report, .. } = turn;
        let [system, tools] = shape.around.unwrap_or_default();
        loaded.cache.watch().handed_out(system, tools, report.changed_by);
        loaded.last_prompt = Some(LastPrompt::new(&loaded.state, &shape, self.cx.now()));
        loaded.state.shape = Some(shape);
        loaded.state.last_prompt = Some(self.cx.now());
        loaded.view_tokens = prompt.tokens();
        self.note_sent(handle, sent);
        self.stage_if_due(handle, loaded);
        self.tell(&SessionEvent::Prompted { handle, loaded });
        handle.note_level(api::ContextLevel {
            tokens: report.tokens,
            level: report.level,
            remaining: report.remaining,
        });
        let event = Event::Context {
            tokens: report.tokens,
            level: report.level,
            remaining: report.remaining,
            window: report.thresholds.window,
            parts: report.parts.clone(),
        };
        self.cx.hub().publish(loaded.session.id, loaded.session.last_seq, &event);
        metrics::counter!("bethink_prompts_total").increment(1);
        report
    }

    /// Makes the prompt that the session would have if the `new` messages followed the stored ones, without reminders
    /// at the end, for a client whose messages are sent unchanged while they fit. Returns the prompt with the state from which it was made. Stores nothing.
    pub fn foresee_with(
        &self,
        loaded: &LoadedSession,
        new: Vec<Message>,
        around: &SystemAndTools,
    ) -> Result<(SessionState, Turn)> {
        let mut state = loaded.state.clone();
        for mut message in new {
            message.seq = state.last_seq.next();
            state.last_seq = message.seq;
            state.history.push(HistoryEntry::new(Arc::new(message)));
        }
        let inputs = self.inputs(loaded, around, Vec::new(), false);
        let inputs = TurnInputs { reduce_only_when_full: true, ..inputs };
        let turn = turn(&state, inputs, self.cx.now()).map_err(no_prompt)?;
        Ok((state, turn))
    }

    fn policy(&self, handle: &SessionHandle, loaded: &LoadedSession, tokens: u64) -> Policy {
        let due = self.compacts_at(&loaded.state.thresholds);
        let limits = &self.limits.compact;
        let policy = policy::decide(tokens, &due, &loaded.breakers, limits, loaded.undone);
        let busy = policy == Policy::Compact && handle.compacting.try_lock().is_err();
        if busy && tokens < loaded.state.thresholds.blocking {
            // The compaction may be waiting for a model, and this prompt still fits.
            return Policy::Held(
                "another compaction is running; this prompt does not wait for it".to_owned(),
            );
        }
        policy
    }

    /// Returns the thresholds at which this session compacts.
    pub(crate) fn compacts_at(&self, thresholds: &Thresholds) -> Thresholds {
        compacts_at(thresholds, self.cx.settings().context.collapse)
    }

    /// Compacts and continues the same turn. The session is not locked during the compaction, because a model may be
    /// writing.
    async fn compact_in_turn(
        &self,
        handle: &Arc<SessionHandle>,
        loaded: SessionGuard,
        before: Turn,
        asked: &TurnRequest<'_>,
    ) -> Result<(SessionGuard, Turn, SystemAndTools, OnceKept)> {
        let seen = loaded.state.decisions.boundary.as_ref().map(|boundary| boundary.id.clone());
        drop(loaded);
        let client_model = asked.client_model.clone();
        let request =
            CompactionRequest { seen, client_model, ..CompactionRequest::new(Trigger::Auto) };
        let done = self.compact_handle(handle, request).await;
        let mut loaded = self.lock(handle).await?;
        let GatheredParts { around, reminders, once_kept } =
            self.gather(handle, &loaded, asked, Moment::Compacted).await?;
        loaded.state.fixed = around.tokens;
        let size = before.report.tokens;
        let inputs = TurnInputs {
            before: before.report.stages,
            compaction: Some(compaction_stage(size, &loaded, done.is_ok())),
            ..self.inputs(&loaded, &around, reminders, asked.reminds)
        };
        let mut turn = turn(&loaded.state, inputs, self.cx.now()).map_err(no_prompt)?;
        match done {
            Ok(done) => {
                turn.report.compacted = Some(done.id.to_string());
                let last = turn.report.last_compaction.as_ref();
                let warning = last.and_then(|last| last.warning.clone());
                turn.report.notices.extend(warning);
            }
            Err(refusal) => {
                turn.report.notices.push(format!("could not compact: {}", refusal.detail));
            }
        }
        Ok((loaded, turn, around, once_kept))
    }

    /// Returns the report on the next prompt. Changes nothing.
    pub async fn report(&self, id: SessionId) -> Result<api::ContextReport> {
        let handle = self.handle(id).await?;
        let loaded = self.lock(&handle).await?;
        if loaded.session.last_seq == Seq::ZERO {
            return Ok(empty_report(&loaded.state, loaded.cache.report()));
        }
        let around = loaded.state.fixed.without_texts();
        let write = |stretch| write_now(&loaded.state, stretch);
        let collapse = self.collapse_policy(&write, &loaded);
        let inputs = TurnInputs { collapse, ..self.inputs(&loaded, &around, Vec::new(), true) };
        Ok(turn(&loaded.state, inputs, self.cx.now()).map_err(no_prompt)?.report)
    }

    /// Stores the decisions with which the next prompt would reduce the view.
    pub(crate) async fn keep_reductions(&self, loaded: &mut LoadedSession) -> Result<()> {
        let now = self.cx.now();
        let (decisions, records) = reductions(&loaded.state, &self.limits.stages, now);
        self.keep_decisions(loaded, decisions, &records, now).await
    }

    /// Stores a turn's decisions, then applies them to the session.
    async fn keep(&self, loaded: &mut LoadedSession, turn: &mut Turn) -> Result<()> {
        let now = self.cx.now();
        if let Some(plan) = &turn.collapsed {
            self.keep_collapsed(loaded, plan, &turn.records, now).await?;
        } else {
            self.store_decisions(loaded, &turn.records, now).await?;
        }
        turn.apply(&mut loaded.state);
        Ok(())
    }

    /// Stores new decisions, then applies them to the session.
    pub async fn keep_decisions(
        &self,
        loaded: &mut LoadedSession,
        decisions: Decisions,
        records: &[Decision],
        now: UnixMicros,
    ) -> Result<()> {
        self.store_decisions(loaded, records, now).await?;
        loaded.state.decisions = decisions;
        Ok(())
    }

    async fn store_decisions(
        &self,
        loaded: &LoadedSession,
        records: &[Decision],
        now: UnixMicros,
    ) -> Result<()> {
        let id = loaded.session.id;
        if records.is_empty() {
            return Ok(());
        }
        let new = new_decisions(loaded, records, now)?;
        if records.iter().all(|record| matches!(record, Decision::Shown { .. })) {
            // The prompt does not wait for this record: the same history leads to the same decisions, and the session's
            // next append is committed after it.
            let (store, users) = (self.cx.store_handle(), Arc::clone(&loaded.users));
            self.cx.spawn(async move {
                if let Err(error) = store.add_decisions(id, new).await {
                    tracing::warn!(session = %id, %error, "could not store which tool results were shown");
                }
                // Until now, the session must not move to another daemon.
                drop(users);
            });
            return Ok(());
        }
        self.cx.store().add_decisions(id, new).await?;
        self.tell(&SessionEvent::Decided { session: id });
        Ok(())
    }
}

fn no_prompt(reason: NoPrompt) -> ServiceError {
    match reason {
        NoPrompt::Empty => ServiceError::conflict(reason.to_string())
            .hint("append a message with text, then request the prompt"),
        NoPrompt::Broken(_) => ServiceError::internal(reason),
    }
}

fn compaction_stage(before: u64, loaded: &LoadedSession, done: bool) -> api::StageReport {
    let last = loaded.last_compaction.as_ref().filter(|_| done);
    api::StageReport {
        stage: api::PromptStage::Compaction,
        tokens_before: before,
        tokens_after: last.map_or(before, |c| c.tokens_after),
        touched: last
            .map(|c| format!("messages {} to {}", c.first_seq, c.last_seq))
            .into_iter()
            .collect(),
        why: format!("the prompt reached {} tokens", loaded.state.thresholds.auto),
    }
}

/// Returns the error for a prompt that does not fit and cannot be reduced further. The error names the largest parts.
fn overflow(report: &api::ContextReport) -> ServiceError {
    let parts = &report.parts;
    let own = parts.system
        + parts.instructions
        + parts.memory
        + parts.tools
        + parts.summary
        + parts.tail
        + parts.attachments;
    let mut largest = [
        ("the client's own additions", report.tokens.saturating_sub(own)),
        ("system", parts.system),
        ("instructions", parts.instructions),
        ("memory", parts.memory),
        ("tools", parts.tools),
        ("summary", parts.summary),
        ("tail", parts.tail),
        ("attachments", parts.attachments),
    ];
    largest.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let fills: Vec<String> = largest
        .iter()
        .filter(|(_, t)| *t > 0)
        .take(3)
        .map(|(name, t)| format!("{name} {t}"))
        .collect();
    let detail = format!(
        "the prompt has {} tokens, but at most {} can be sent; the largest parts, in tokens: {}",
        report.tokens,
        report.thresholds.blocking,
        fills.join(", ")
    );
    ServiceError {
        context: Some(Box::new(report.clone())),
        ..ServiceError::new(ErrorKind::ContextOverflow, detail)
            .bounded(report.thresholds.blocking, report.tokens)
            .hint("shorten the system prompt or the tools, compact the session, or give it a larger context window")
    }
}

/// Joins existing bytes into the response.
fn join(
    system: &[u8],
    messages: &[u8],
    tools: &[u8],
    report: &api::ContextReport,
) -> Result<Bytes> {
    let report = serde_json::to_vec(report).map_err(ServiceError::internal)?;
    let parts: [&[u8]; 9] = [
        br#"{"system":"#,
        system,
        br#","messages":"#,
        messages,
        br#","tools":"#,
        tools,
        br#","report":"#,
        &report,
        b"}",
    ];
    Ok(parts.concat().into())
}
