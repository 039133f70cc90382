//! A turn in a session: collects contributions, lets [`bethink_context::turn`] make the prompt, and stores its
//! decisions before anyone gets it.

use std::sync::Arc;

use bethink_api::{self as api, PromptChange};
use bethink_compactor::Trigger;
use bethink_compactor::policy::{self, Policy};
use bethink_context::{
    Attachment, Decision, Decisions, HistoryEntry, ProjectTexts, SessionState, SystemAndTools,
    Thresholds, Turn, TurnInputs, assemble, compacts_at, empty_report, reductions, system_json,
    turn,
};
use bethink_service::{ErrorKind, Event, Result, ServiceError};
use bethink_transcript::{Message, Seq, SessionId, UnixMicros};
use bytes::Bytes;

use crate::collapse::write_now;
use crate::compactions::CompactionRequest;
use crate::decisions::new_decisions;
use crate::handle::{SessionGuard, SessionHandle};
use crate::loaded::LoadedSession;
use crate::prefix::SentRequest;
use crate::request::{ClientParts, Inject, Moment, PromptRequest, RecallQuery};
use crate::service::{Contribution, SessionEvent, SessionService};

#[derive(Debug)]
pub struct TurnRequest<'a> {
    pub client: &'a ClientParts,
    pub inject: Inject,
    pub recall: RecallQuery,
    pub may_compact: bool,
    /// Remind the model of todos and notes.
    pub reminds: bool,
}

/// A prompt that may go out: its decisions are durable.
#[derive(Debug)]
pub struct ReadyPrompt {
    pub loaded: SessionGuard,
    pub turn: Turn,
    pub around: SystemAndTools,
}

/// Callbacks of contributors for when the decisions are durable.
type OnceKept = Vec<Box<dyn FnOnce() + Send>>;

/// System parts, tools and reminders from contributors.
struct GatheredParts {
    around: SystemAndTools,
    reminders: Vec<Attachment>,
    once_kept: OnceKept,
}

impl SessionService {
    /// The next model call's body: `{system, messages, tools, report}`.
    pub async fn prompt(&self, id: SessionId, mut request: api::ContextRequest) -> Result<Bytes> {
        let may_compact = request.compact != Some(api::PromptCompaction::Never)
            && self.cx.settings().context.auto_compact;
        let tools = request.tools.as_ref().map(|t| t.get());
        let client = ClientParts::new(request.system.take(), tools, request.touched_paths.take())?;
        let inject = request.inject.unwrap_or_default();
        let handle = self.handle(id).await?;
        let loaded = self.lock(&handle).await?;
        loaded.require_messages("append the user's first message, then request the prompt")?;
        let recall = RecallQuery::new(request.query, request.recent_tools);
        let asked = TurnRequest { client: &client, inject, recall, may_compact, reminds: true };
        let ReadyPrompt { mut loaded, turn, around } = self.ready(&handle, loaded, asked).await?;
        let after_boundary = loaded.state.decisions.boundary.is_some();
        let body = assemble(&turn.prompt, &around.system, after_boundary);
        let (system, tools) = (Bytes::from(body.system), Bytes::from(around.tools));
        let sent = SentRequest { system: system.clone(), tools: tools.clone(), marks: body.marks };
        let report = self.handed_out(&handle, &mut loaded, turn, sent);
        drop(loaded);
        drop(handle);
        self.trim();
        join(&system, &body.messages, &tools, &report)
    }

    /// A prompt that fits, its decisions durable.
    pub async fn ready(
        &self,
        handle: &Arc<SessionHandle>,
        mut loaded: SessionGuard,
        asked: TurnRequest<'_>,
    ) -> Result<ReadyPrompt> {
        let moment = Moment::Begin { reminds: asked.reminds };
        let GatheredParts { mut around, reminders, once_kept } =
            self.gather(handle, &loaded, &asked, moment).await?;
        loaded.state.fixed = around.tokens;
        loaded.breakers.turn();
        let make = || {
            let write = |stretch| write_now(&loaded.state, stretch);
            let collapse = self.collapse_policy(&write, &loaded);
            let inputs = self.inputs(&loaded, &around, reminders, asked.reminds);
            turn(&loaded.state, TurnInputs { collapse, ..inputs }, self.cx.now())
        };
        // Spans that were not staged get their texts within the turn.
        let turn = match self.cx.settings().context.collapse {
            true => tokio::task::block_in_place(make),
            false => make(),
        };
        let mut turn = turn.map_err(ServiceError::internal)?;
        let effective = loaded.state.thresholds.effective;
        loaded.state.learner.compare(turn.estimated, &turn.size, effective);
        let mut once_kept = once_kept;
        if asked.may_compact {
            match self.policy(handle, &loaded, turn.report.tokens) {
                Policy::Nothing => {}
                Policy::Held(reason) => turn.report.notices.push(reason),
                Policy::Compact => {
                    self.keep(&mut loaded, &mut turn).await?;
                    once_kept.drain(..).for_each(|told| told());
                    (loaded, turn, around, once_kept) =
                        Box::pin(self.compact_in_turn(handle, loaded, turn, &asked)).await?;
                }
            }
        }
        self.keep(&mut loaded, &mut turn).await?;
        once_kept.into_iter().for_each(|told| told());
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
        let (mut texts, mut reminders) = (ProjectTexts::default(), Vec::new());
        let mut once_kept = Vec::new();
        for contributor in self.contributors() {
            let Contribution { system, reminders: more, once_kept: told } =
                contributor.contribute(request).await?;
            texts.instructions = texts.instructions.or(system.instructions);
            texts.memory = texts.memory.or(system.memory);
            reminders.extend(more);
            once_kept.extend(told);
        }
        let around =
            SystemAndTools::new(&client.parts, client.tools.clone(), texts).map_err(|unknown| {
                let field = format!("system[{}].part", unknown.index);
                ServiceError::invalid(field, unknown.to_string())
            })?;
        Ok(GatheredParts { around, reminders, once_kept })
    }

    /// Only the system parts and tools of a prompt that would begin now.
    pub async fn around(
        &self,
        handle: &Arc<SessionHandle>,
        loaded: &LoadedSession,
        client: &ClientParts,
        inject: Inject,
    ) -> Result<SystemAndTools> {
        let recall = RecallQuery::default();
        let asked = TurnRequest { client, inject, recall, may_compact: false, reminds: false };
        let gathered = self.gather(handle, loaded, &asked, Moment::Look).await?;
        Ok(gathered.around)
    }

    /// The inputs of every turn of this session, with collapse off.
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
        loaded.cache.watch().handed_out(shape.system, shape.tools, report.changed_by);
        loaded.state.shape = Some(shape);
        loaded.state.last_prompt = Some(self.cx.now());
        loaded.view_tokens = prompt.tokens();
        loaded.sent = Some(sent);
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

    /// The prompt of the session with `new` messages after the stored ones, without reminders at the end, and
    /// the state that it was made from. Stores nothing.
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
        let turn = turn(&state, inputs, self.cx.now()).map_err(ServiceError::internal)?;
        Ok((state, turn))
    }

    fn policy(&self, handle: &SessionHandle, loaded: &LoadedSession, tokens: u64) -> Policy {
        let due = self.compacts_at(&loaded.state.thresholds);
        let limits = &self.limits.compact;
        let wish = policy::decide(tokens, &due, &loaded.breakers, limits, loaded.undone);
        let busy = wish == Policy::Compact && handle.compacting.try_lock().is_err();
        if busy && tokens < loaded.state.thresholds.blocking {
            // The compaction may be waiting for a model, and this prompt still fits.
            return Policy::Held(
                "a compaction is under way; this prompt does without it".to_owned(),
            );
        }
        wish
    }

    /// The thresholds at which this session compacts.
    pub(crate) fn compacts_at(&self, thresholds: &Thresholds) -> Thresholds {
        compacts_at(thresholds, self.cx.settings().context.collapse)
    }

    /// Compacts and continues the same turn. The session is not locked meanwhile, because a model may be writing.
    async fn compact_in_turn(
        &self,
        handle: &Arc<SessionHandle>,
        loaded: SessionGuard,
        before: Turn,
        asked: &TurnRequest<'_>,
    ) -> Result<(SessionGuard, Turn, SystemAndTools, OnceKept)> {
        let seen = loaded.state.decisions.boundary.as_ref().map(|boundary| boundary.id.clone());
        drop(loaded);
        let request = CompactionRequest { seen, ..CompactionRequest::new(Trigger::Auto) };
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
        let mut turn =
            turn(&loaded.state, inputs, self.cx.now()).map_err(ServiceError::internal)?;
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

    /// Diagnostics only; changes nothing.
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
        let mut report =
            turn(&loaded.state, inputs, self.cx.now()).map_err(ServiceError::internal)?.report;
        // The next call's system and tools are unknown; assume that they do not change.
        let is_assumed =
            |by: &PromptChange| matches!(by, PromptChange::System | PromptChange::Tools);
        report.changed_by = report.changed_by.filter(|by| !is_assumed(by));
        Ok(report)
    }

    /// Clears what the next prompt would clear.
    pub(crate) async fn keep_reductions(&self, loaded: &mut LoadedSession) -> Result<()> {
        let now = self.cx.now();
        let (decisions, records) = reductions(&loaded.state, &self.limits.stages, now);
        self.keep_decisions(loaded, decisions, &records, now).await
    }

    /// Makes a turn's decisions durable, then the session's own.
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

    /// Makes new decisions durable, then the session's own.
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
            // Do not wait for the watermark: the same history leads to the same decisions, and the session's
            // next append is committed after it.
            let store = self.cx.store_handle();
            self.cx.spawn(async move {
                if let Err(error) = store.add_decisions(id, new).await {
                    tracing::warn!(session = %id, %error, "could not write the watermark");
                }
            });
            return Ok(());
        }
        self.cx.store().add_decisions(id, new).await?;
        self.tell(&SessionEvent::Decided { session: id });
        Ok(())
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

/// System and tools as in a request that sets no breakpoints.
pub fn sent_request(around: &SystemAndTools) -> SentRequest {
    let system = Bytes::from(system_json(&around.system));
    SentRequest { system, tools: Bytes::from(around.tools.clone()), marks: Vec::new() }
}

/// The prompt does not fit although nothing more can be left out; the error names its largest parts.
fn overflow(report: &api::ContextReport) -> ServiceError {
    let parts = &report.parts;
    let mut largest = [
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
        "the prompt has {} tokens, but at most {} can be sent; largest parts: {}",
        report.tokens,
        report.thresholds.blocking,
        fills.join(", ")
    );
    ServiceError {
        context: Some(Box::new(report.clone())),
        ..ServiceError::new(ErrorKind::ContextOverflow, detail)
            .bounded(report.thresholds.blocking, report.tokens)
            .hint("shorten the system prompt or the tools, compact, or give the session a larger context window")
    }
}

/// Joins the response from existing bytes.
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
