//! What a file says about its session as a whole.

use std::borrow::Cow;

use bethink_transcript::typed::title;
use bethink_transcript::{Block, BlockKind, Message, Role, UnixMicros};
use serde_json::value::RawValue;

use crate::chains::Chains;
use crate::envelope::{CompactBoundary, LineEnvelope, text};
use crate::line::{LineKind, MessageLine, RecordedCompaction, Thread};

/// The model name of messages that Claude Code wrote itself, such as reports of an API error.
const SYNTHETIC: &str = "<synthetic>";

/// Facts that are collected while the file is read.
#[derive(Debug, Default)]
pub struct SessionFileFacts {
    /// The title that Claude Code would show: the last `custom-title`, else the last `ai-title`, else the last summary
    /// that belongs to a message of this file, else the first prompt.
    pub title: Option<String>,
    /// Whether a person has set the title (`custom-title`).
    pub titled: bool,
    pub tags: Vec<String>,
    /// The first working directory.
    pub cwd: Option<String>,
    /// The newest id on the main thread. A resumed session starts with its old id.
    pub session_id: Option<String>,
    pub git_branch: Option<String>,
    /// Claude Code's version.
    pub version: Option<String>,
    /// The model of the newest answer on the main thread.
    pub model: Option<String>,
    pub first_at: Option<UnixMicros>,
    pub last_at: Option<UnixMicros>,
    /// Number of messages on the main thread.
    pub messages: u64,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// In the order of their lines.
    pub compactions: Vec<RecordedCompaction>,
    /// bethink's own view of the session, as JSON, from the last line that has it.
    pub view: Option<String>,
    pending: Option<(u64, CompactBoundary)>,
    custom_title: Option<String>,
    ai_title: Option<String>,
    /// Summaries, each with the uuid of its message. Older versions of Claude Code also wrote summaries of other sessions
    /// into a file.
    summaries: Vec<(String, String)>,
    first_prompt: Option<String>,
}

impl SessionFileFacts {
    pub(crate) fn envelope(&mut self, record: &LineEnvelope<'_>, thread: &Thread) {
        if let Some(at) = record.time() {
            self.first_at = Some(self.first_at.map_or(at, |first| first.min(at)));
            self.last_at = Some(self.last_at.map_or(at, |last| last.max(at)));
        }
        if self.cwd.is_none() {
            note(&mut self.cwd, record.cwd);
        }
        if *thread == Thread::Main {
            note(&mut self.session_id, record.session_id);
            note(&mut self.git_branch, record.git_branch);
            note(&mut self.version, record.version);
        }
    }

    pub(crate) fn boundary(&mut self, line: u64, boundary: CompactBoundary) {
        self.pending = Some((line, boundary));
    }

    /// Whether the next summary is not a message of the history.
    pub(crate) fn expects_summary_apart(&self) -> bool {
        let boundary = self.pending.as_ref().map(|(_, boundary)| boundary);
        boundary.is_some_and(|boundary| boundary.is_ours || boundary.kept.is_some())
    }

    /// Takes a summary that is not a message of the history.
    pub(crate) fn summary_apart(&mut self, message: &Message) {
        if let Some(pending) = self.pending.take() {
            self.compaction(pending, message);
        }
    }

    fn compaction(&mut self, pending: (u64, CompactBoundary), message: &Message) {
        let (boundary_line, CompactBoundary { trigger, pre_tokens, kept, is_ours }) = pending;
        self.compactions.push(RecordedCompaction {
            trigger,
            pre_tokens,
            summary: texts(&message.blocks),
            summary_id: message.id.clone(),
            created_at: message.created_at,
            boundary_line,
            is_apart: is_ours || kept.is_some(),
            kept,
            messages: self.messages,
        });
    }

    pub(crate) fn metadata(&mut self, record: &LineEnvelope<'_>) -> Option<LineKind> {
        let slot = match text(record.kind).as_deref()? {
            "tag" => {
                self.tags = record.all_tags();
                return Some(LineKind::Tags(self.tags.clone()));
            }
            "summary" => {
                let summary = text(record.summary)?.into_owned();
                let leaf = text(record.leaf_uuid).unwrap_or_default().into_owned();
                self.summaries.push((leaf, summary.clone()));
                return Some(LineKind::Title(summary));
            }
            "custom-title" => (&mut self.custom_title, record.custom_title),
            _ => (&mut self.ai_title, record.ai_title),
        };
        let title = text(slot.1)?.into_owned();
        *slot.0 = Some(title.clone());
        Some(LineKind::Title(title))
    }

    pub(crate) fn message(&mut self, line: &MessageLine) {
        if line.thread != Thread::Main {
            return;
        }
        self.messages += 1;
        let message = &line.message;
        if let Some(model) = message.model.as_deref().filter(|model| *model != SYNTHETIC)
            && self.model.as_deref() != Some(model)
        {
            self.model = Some(model.to_owned());
        }
        let pending = self.pending.take();
        if line.is_summary {
            if let Some(pending) = pending {
                self.compaction(pending, message);
            }
        } else if self.first_prompt.is_none() && message.role == Role::User && !line.is_meta {
            self.first_prompt = title(&texts(&message.blocks));
        }
    }

    pub(crate) fn settle_title(&mut self, chains: &Chains) {
        self.titled = self.custom_title.as_ref().is_some_and(|title| !title.is_empty());
        self.title = self.title_so_far(chains);
    }

    pub(crate) fn title_so_far(&self, chains: &Chains) -> Option<String> {
        let named = |title: &Option<String>| title.clone().filter(|title| !title.is_empty());
        named(&self.custom_title)
            .or_else(|| named(&self.ai_title))
            .or_else(|| {
                let own = self.summaries.iter().rev().find(|(leaf, _)| chains.knows(leaf));
                own.map(|(_, summary)| summary.clone())
            })
            .or_else(|| self.first_prompt.clone())
    }
}

/// Stores the newest value, without allocating if it is unchanged.
fn note(slot: &mut Option<String>, raw: Option<&RawValue>) {
    if let Some(value) = text(raw).filter(|value| !value.is_empty())
        && slot.as_deref() != Some(&*value)
    {
        *slot = Some(value.into_owned());
    }
}

fn texts(blocks: &[Block]) -> String {
    let texts: Vec<Cow<'_, str>> =
        blocks.iter().filter(|block| block.kind == BlockKind::Text).map(Block::text).collect();
    texts.join("\n")
}
