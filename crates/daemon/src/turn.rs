//! A turn: from a session's state to the body of the next model call.
//!
//! Stages decide on a copy; the copy becomes the session's state only once its new decisions are
//! durable, so that a prompt that was handed out can always be made again.

use std::sync::Arc;

use bethink_api as api;
use bethink_compactor::Trigger;
use bethink_compactor::policy::{self, Policy};
use bethink_context::{
    Attachment, Decision, Decisions, Hints, Measure, Shape, StageReport, assemble, measure, snip,
    view,
};
use bethink_context::{budget, microcompact};
use bethink_store::NewDecision;
use bethink_transcript::{Role, Seq, SessionId, UnixMicros, ValidPrompt};
use bytes::Bytes;

use crate::added::{memory_tokens, todo_reminder};
use crate::collapse::Fill;
use crate::compactions::Wish;
use crate::frame::{Frame, Given, hash, hash_text, join, overflow};
use crate::hot::{HotGuard, HotSession, Slot, tokens};
use crate::memory::{Inject, Project};
use crate::models::Sent;
use crate::recall::Asked;
use crate::report::{self, Facing};
use crate::sessions::view_options;
use crate::{Daemon, Kind, Refusal, Result};

/// A prompt with all that is said about it.
pub(crate) struct Made {
    pub(crate) prompt: ValidPrompt,
    pub(crate) shape: Shape,
    pub(crate) report: api::ContextReport,
    stages: Vec<StageReport>,
    /// Tokens of all its parts, as estimated.
    estimated: u64,
    size: Measure,
}

impl Made {
    fn fill(&self) -> Fill {
        Fill { tokens: self.report.tokens, estimated: self.estimated }
    }
}

/// What is asked of a turn.
pub(crate) struct Wanted<'a> {
    pub(crate) given: &'a Given,
    pub(crate) inject: Inject,
    pub(crate) asked: Asked,
    pub(crate) may_compact: bool,
    /// Todos and notes are brought to the model's mind.
    pub(crate) reminds: bool,
}

/// What a turn is made with when it begins anew after a compaction.
struct Around<'a> {
    project: Option<&'a Project>,
    given: &'a Given,
    inject: Inject,
    reminds: bool,
}

/// A prompt that may go out.
pub(crate) struct Ready {
    pub(crate) hot: HotGuard,
    pub(crate) made: Made,
    pub(crate) frame: Frame,
}

/// A prompt with the decisions that made it, not kept yet.
struct Turn {
    made: Made,
    decisions: Decisions,
    records: Vec<Decision>,
}

impl Daemon {
    /// The next model call's body: `{system, messages, tools, report}`.
    pub async fn context(&self, id: SessionId, mut request: api::ContextRequest) -> Result<Bytes> {
        let may_compact = match request.compact.as_deref() {
            None | Some("auto") => self.settings().context.auto_compact,
            Some("never") => false,
            Some(other) => {
                return Err(Refusal::invalid(
                    "compact",
                    format!("{other:?}: use \"auto\" or \"never\""),
                ));
            }
        };
        let tools = request.tools.as_ref().map(|t| t.get());
        let given = Given::new(request.system.take(), tools, request.touched_paths.take())?;
        let inject = Inject::of(request.inject.as_deref())?;
        let slot = self.hot(id).await?;
        let hot = slot.lock(self).await?;
        if hot.session.last_seq == Seq::ZERO {
            return Err(Refusal::new(Kind::Conflict, "the session has no messages yet")
                .hint("append the user's first message, then ask for the context"));
        }
        let asked = Asked::of(request.query, request.recent_tools);
        let wanted = Wanted { given: &given, inject, asked, may_compact, reminds: true };
        let Ready { mut hot, made, frame } = self.ready(&slot, hot, wanted).await?;
        let after_boundary = hot.decisions.boundary.is_some();
        let body = assemble(&made.prompt, &frame.system, after_boundary);
        let (system, tools) = (Bytes::from(body.system), Bytes::from(frame.tools));
        let sent = Sent { system: system.clone(), tools: tools.clone(), marks: body.marks };
        let report = self.handed_out(&slot, &mut hot, made, sent);
        drop(hot);
        self.registry().trim(self.hot_budget());
        join(&system, &body.messages, &tools, &report)
    }

    /// A prompt that fits, its decisions durable.
    pub(crate) async fn ready(
        &self,
        slot: &Arc<Slot>,
        mut hot: HotGuard,
        wanted: Wanted<'_>,
    ) -> Result<Ready> {
        let Wanted { given, inject, asked, may_compact, reminds } = wanted;
        let project = self.project_of(&hot, inject).await?;
        let mut frame = self.frame(&hot, slot, project.as_deref(), given, inject).await?;
        hot.fixed_tokens = frame.tokens();
        hot.fixed = frame.fixed();
        hot.breakers.turn();
        let mut reminders = match reminds {
            true => self.reminders(&hot, slot, project.as_deref(), inject).await?,
            false => self.memory_news(&hot, slot, project.as_deref()),
        };
        let recalled = match &project {
            Some(project) => self.recalled(&hot, slot, project, asked).await,
            None => Vec::new(),
        };
        reminders.extend(recalled.iter().map(|recalled| recalled.attachment.clone()));
        if reminds {
            reminders.extend(todo_reminder(&mut hot));
        }
        let mut turn = self.turn(&hot, &frame, reminders)?;
        let effective = hot.thresholds.effective;
        hot.learner.compare(turn.made.estimated, &turn.made.size, effective);
        let fill = turn.made.fill();
        if let Some(stage) = self.collapse(&mut hot, &mut turn.decisions, fill).await? {
            turn.made.stages.push(stage);
            turn.made = self.make(&hot, &turn.decisions, &frame, &turn.made.stages)?;
        }
        if may_compact {
            match self.policy(slot, &hot, turn.made.report.tokens) {
                Policy::Nothing => {}
                Policy::Held(reason) => turn.made.report.notices.push(reason),
                Policy::Compact => {
                    let around = Around { project: project.as_deref(), given, inject, reminds };
                    (hot, turn, frame) = self.compact_in_turn(slot, hot, turn, around).await?;
                }
            }
        }
        let Turn { made, decisions, records } = turn;
        self.keep(&mut hot, decisions, records, self.now()).await?;
        self.tell_recalled(hot.session.id, &recalled);
        if made.report.tokens >= hot.thresholds.blocking {
            return Err(overflow(&made.report));
        }
        Ok(Ready { hot, made, frame })
    }

    /// Notes what goes out, and wakes what waits for it.
    pub(crate) fn handed_out(
        &self,
        slot: &Arc<Slot>,
        hot: &mut HotGuard,
        made: Made,
        sent: Sent,
    ) -> api::ContextReport {
        let Made { prompt, shape, report, .. } = made;
        hot.cache.handed_out(&shape, report.changed_by.as_deref());
        hot.shape = Some(shape);
        hot.last_prompt = Some(self.now());
        hot.view_tokens = prompt.tokens();
        hot.sent = Some(sent);
        self.ask_notes_gate(slot, hot);
        self.ask_collapse_gate(slot, hot);
        self.ask_dream_gate(slot, hot);
        slot.note(&api::ContextLevel {
            tokens: report.tokens,
            level: report.level.clone(),
            remaining: report.remaining,
        });
        self.tell_context(hot, &report);
        metrics::counter!("bethink_prompts_total").increment(1);
        report
    }

    /// The window as the newest prompt fills it.
    pub(crate) fn tell_context(&self, hot: &HotSession, report: &api::ContextReport) {
        let data = serde_json::json!({
            "tokens": report.tokens,
            "level": report.level,
            "remaining": report.remaining,
            "window": report.thresholds.window,
            "parts": report.parts,
        });
        self.hub().publish(hot.session.id, "context", hot.session.last_seq, &data);
    }

    /// Decides and looks; nothing is kept yet.
    fn turn(&self, hot: &HotSession, frame: &Frame, reminders: Vec<Attachment>) -> Result<Turn> {
        let now = self.now();
        let (decisions, records, stages) = self.decide(hot, reminders, now);
        let made = self.make(hot, &decisions, frame, &stages)?;
        Ok(Turn { made, decisions, records })
    }

    /// The prompt of the session as it stands here. Nothing is kept.
    pub(crate) fn foreseen(&self, hot: &HotSession, frame: &Frame) -> Result<Made> {
        Ok(self.turn(hot, frame, Vec::new())?.made)
    }

    fn policy(&self, slot: &Slot, hot: &HotSession, tokens: u64) -> Policy {
        let limits = crate::limits::compact(&self.settings().compact);
        let due = self.compacts_at(hot);
        let wish = policy::decide(tokens, &due, &hot.breakers, &limits, hot.undone);
        let busy = wish == Policy::Compact && slot.compacting.try_lock().is_err();
        if busy && tokens < hot.thresholds.blocking {
            // It may be waiting for a model; this prompt still fits.
            return Policy::Held(
                "a compaction is being made; this prompt goes on without".to_owned(),
            );
        }
        wish
    }

    /// Compacts and goes on in the same turn. The session is not held meanwhile: a model may be writing.
    async fn compact_in_turn(
        &self,
        slot: &Arc<Slot>,
        mut hot: HotGuard,
        before: Turn,
        Around { project, given, inject, reminds }: Around<'_>,
    ) -> Result<(HotGuard, Turn, Frame)> {
        let Turn { made, decisions, records } = before;
        self.keep(&mut hot, decisions, records, self.now()).await?;
        let seen = hot.decisions.boundary.as_ref().map(|boundary| boundary.id.clone());
        drop(hot);
        let done = self.compact_slot(slot, Wish { seen, ..Wish::of(Trigger::Auto) }).await;
        let mut hot = slot.lock(self).await?;
        let frame = self.frame(&hot, slot, project, given, inject).await?;
        hot.fixed_tokens = frame.tokens();
        hot.fixed = frame.fixed();
        let now = self.now();
        let mut news = match inject {
            Inject::Full => self.instruction_news(&hot, slot),
            Inject::Recall | Inject::Off => Vec::new(),
        };
        if reminds {
            news.extend(todo_reminder(&mut hot));
        }
        let (decisions, records, mut stages) = self.decide(&hot, news, now);
        let (size, compacted) = (made.report.tokens, done.is_ok());
        stages.splice(0..0, made.stages);
        stages.push(report::compaction_stage(size, &hot, compacted));
        let mut made = self.make(&hot, &decisions, &frame, &stages)?;
        // The compaction counted what it can see; the whole is known now.
        if let Some(stage) = made.report.stages.last_mut() {
            stage.tokens_after = made.report.tokens;
        }
        match done {
            Ok(done) => {
                made.report.compacted = Some(done.id.to_string());
                let last = made.report.last_compaction.as_ref();
                let warning = last.and_then(|last| last.warning.clone());
                made.report.notices.extend(warning);
            }
            Err(refusal) => {
                made.report.notices.push(format!("no compaction: {}", refusal.detail));
            }
        }
        Ok((hot, Turn { made, decisions, records }, frame))
    }

    /// Diagnostics alone; changes nothing.
    pub async fn report(&self, id: SessionId) -> Result<api::ContextReport> {
        let slot = self.hot(id).await?;
        let mut hot = slot.lock(self).await?;
        if hot.session.last_seq == Seq::ZERO {
            return Ok(report::empty(&hot));
        }
        let todos = hot.todos.clone();
        let reminders = todo_reminder(&mut hot).into_iter().collect();
        hot.todos = todos;
        let (mut decisions, _, mut stages) = self.decide(&hot, reminders, self.now());
        let frame = hot.fixed.frame();
        let mut made = self.make(&hot, &decisions, &frame, &stages)?;
        if let Some(due) = self.collapses_due(&hot, &decisions, made.fill()) {
            stages.push(due.shown_in(&hot, &mut decisions));
            made = self.make(&hot, &decisions, &frame, &stages)?;
        }
        // Nothing is known of the next call's system and tools; they are taken to stay.
        if made.report.changed_by.as_deref().is_some_and(|by| by == "system" || by == "tools") {
            made.report.changed_by = None;
        }
        Ok(made.report)
    }

    /// Runs the stages that decide, on a copy of the session's decisions.
    fn decide(
        &self,
        hot: &HotSession,
        reminders: Vec<Attachment>,
        now: UnixMicros,
    ) -> (Decisions, Vec<Decision>, Vec<StageReport>) {
        let (mut decisions, mut records, stages) = self.clear(hot, now);
        let mut take = |decisions: &mut Decisions, record: Decision| {
            decisions.apply(&record, &hot.history, &tokens);
            records.push(record);
        };
        for reminder in reminders {
            let record = decisions.attaching(reminder);
            take(&mut decisions, record);
        }
        let last = hot.session.last_seq;
        if decisions.shown_through() < last
            && hot
                .history
                .entries()
                .iter()
                .rev()
                .take_while(|e| e.message.seq > decisions.shown_through())
                .any(|e| e.message.tool_results().next().is_some())
        {
            take(&mut decisions, Decision::Shown { through: last });
        }
        (decisions, records, stages)
    }

    /// Of these the stages that take something out of the view.
    fn clear(
        &self,
        hot: &HotSession,
        now: UnixMicros,
    ) -> (Decisions, Vec<Decision>, Vec<StageReport>) {
        let settings = &self.settings().context;
        let hints = Hints { session: hot.session.id.to_string() };
        let mut decisions = hot.decisions.clone();
        let (mut records, mut stages) = (Vec::new(), Vec::new());
        let mut take =
            |decisions: &mut Decisions, (new, report): (Vec<Decision>, Option<StageReport>)| {
                for record in &new {
                    decisions.apply(record, &hot.history, &tokens);
                }
                records.extend(new);
                stages.extend(report);
            };
        let found =
            budget::decide(&hot.history, &decisions, &crate::limits::budget(settings), &hints);
        take(&mut decisions, found);
        if settings.snip {
            let found = snip::decide(&hot.history, &decisions, &hints);
            take(&mut decisions, found);
        }
        let limits = crate::limits::microcompact(settings);
        let active = last_activity(hot);
        let found = microcompact::decide(&hot.history, &decisions, &limits, active, now, &hints);
        take(&mut decisions, found);
        (decisions, records, stages)
    }

    /// Clears what the next prompt would clear. A compaction by hand starts from what its report shows,
    /// or it could leave a prompt that is larger than the one that was looked at.
    pub(crate) async fn keep_cleared(&self, hot: &mut HotSession) -> Result<()> {
        let now = self.now();
        let (decisions, records, _) = self.clear(hot, now);
        self.keep(hot, decisions, records, now).await
    }

    /// Looks, validates, measures.
    fn make(
        &self,
        hot: &HotSession,
        decisions: &Decisions,
        frame: &Frame,
        stages: &[StageReport],
    ) -> Result<Made> {
        let shown = view(&hot.history, decisions, view_options(&hot.model));
        let (summary, attachments) = (shown.summary_tokens, shown.attachment_tokens);
        let first_edited = shown.first_edited;
        let repairs = report::repairs(&shown.repairs);
        let prompt = ValidPrompt::check(shown.messages)
            .map_err(|faults| Refusal::internal(format!("the view broke a rule: {faults:?}")))?;
        let estimated = prompt.tokens() + frame.tokens();
        let size = measure(&hot.history, decisions, &hot.model.name, estimated, &hot.learner);
        let shape = Shape::new(&prompt, hash(&frame.system), hash_text(&frame.tools));
        let facing = Facing {
            hot,
            decisions,
            frame,
            stages,
            prompt: &prompt,
            shape: &shape,
            size,
            summary,
            attachments,
            memory: memory_tokens(decisions),
            compacts_at: self.compacts_at(hot).auto,
            first_edited,
            repairs,
        };
        let report = report::write(facing);
        Ok(Made { prompt, shape, report, stages: stages.to_vec(), estimated, size })
    }

    /// Makes new decisions durable, then the session's own.
    pub(crate) async fn keep(
        &self,
        hot: &mut HotSession,
        decisions: Decisions,
        records: Vec<Decision>,
        now: UnixMicros,
    ) -> Result<()> {
        let made_after = hot.session.last_seq;
        let new: Vec<NewDecision> = records
            .iter()
            .map(|record| {
                Ok(NewDecision {
                    kind: record.kind().to_owned(),
                    data: serde_json::to_string(record).map_err(Refusal::internal)?,
                    made_after,
                    created_at: now,
                })
            })
            .collect::<Result<_>>()?;
        let watermark_only = records.iter().all(|r| matches!(r, Decision::Shown { .. }));
        if watermark_only && !new.is_empty() {
            // The watermark need not be waited for: the same history decides the same again, and the
            // session's next append is committed after it.
            let (store, id) = (self.store_handle(), hot.session.id);
            self.spawn(async move {
                if let Err(error) = store.add_decisions(id, new).await {
                    tracing::warn!(session = %id, %error, "watermark not written");
                }
            });
        } else if !new.is_empty() {
            self.store().add_decisions(hot.session.id, new).await?;
        }
        if !watermark_only {
            self.gateway().edited(hot.session.id);
        }
        hot.decided(decisions);
        Ok(())
    }
}

/// When the provider last saw this session's prefix, as far as is known.
pub(crate) fn last_activity(hot: &HotSession) -> Option<UnixMicros> {
    let assistant = hot
        .history
        .entries()
        .iter()
        .rev()
        .find(|e| e.message.role == Role::Assistant)
        .map(|e| e.message.created_at);
    hot.last_prompt.max(assistant)
}
