//! Texts for a client's model: the project's memory index at the start of a session, and relevant memories for each
//! prompt.

use std::sync::Arc;

use bethink_hook_events::{Delivery, HookClient, HookEvent, MAX_CONTEXT_CHARS};
use bethink_memdir::Scope;
use bethink_memdir::prompt::{guarded, index};
use bethink_memories::SESSION_BYTES;
use bethink_service::Result;
use bethink_store::DeliveredMemories;
use bethink_transcript::SessionId;

use crate::ready::{Who, who};
use crate::service::HookService;

/// Maximum length of a session's notes, in characters. The rest of an answer is for the index.
const NOTES_CHARS: usize = 6_000;
const GAP: usize = 2;

impl HookService {
    /// Returns texts for the model, most important first. The list may be empty.
    pub(crate) async fn words(&self, delivery: &Delivery) -> Result<Vec<String>> {
        match delivery.event {
            HookEvent::SessionStart => self.first_words(delivery).await,
            HookEvent::PromptSubmit => self.prompt_words(delivery).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn first_words(&self, delivery: &Delivery) -> Result<Vec<String>> {
        let notes = match who(delivery).filter(|_| delivery.input.is_continued()) {
            Some(who) => self.notes_of_client(&who).await?,
            None => None,
        };
        let taken = notes.as_ref().map_or(0, |notes| notes.chars().count() + GAP);
        let offer = self.offer(delivery).await;
        let taken = taken + offer.as_ref().map_or(0, |offer| offer.chars().count() + GAP);
        let pause = self.pause_words();
        let taken = taken + pause.as_ref().map_or(0, |text| text.chars().count() + GAP);
        let index = self.index_for(delivery, MAX_CONTEXT_CHARS - taken).await?;
        Ok(pause.into_iter().chain(index).chain(notes).chain(offer).collect())
    }

    /// Returns a note that says that recording is paused, so that the agent can tell the user.
    fn pause_words(&self) -> Option<String> {
        let pause = self.cx.recording_pause()?;
        let until = pause.until.map_or_else(String::new, |until| format!(" until {until}"));
        Some(format!(
            "<system-reminder>bethink is paused{until}: nothing that is said during the pause is recorded or learned. \
             `bethink resume` ends the pause.</system-reminder>"
        ))
    }

    /// Returns the memory index as it appears in a prompt, in at most `room` characters.
    async fn index_for(&self, delivery: &Delivery, room: usize) -> Result<Option<String>> {
        let Some(dir) = &delivery.input.cwd else { return Ok(None) };
        let project = self.memories.project(dir).await?;
        // With the layout `claude`, Claude Code shows the index itself.
        let has_own = self.cx.settings().memory.layout == "claude"
            && delivery.client == HookClient::ClaudeCode;
        let dirs = Scope::ALL.map(|scope| project.directory(scope).dir.display().to_string());
        let mut snapshots = self.memories.snapshots_soon(&project).await;
        let mut texts = self.memories.index_texts(&project, dir, &snapshots).await;
        if has_own {
            snapshots[0] = Arc::default();
            texts[0].clear();
        }
        let is_empty = snapshots.iter().all(|shown| shown.topics.is_empty())
            && texts.iter().all(String::is_empty);
        Ok(if is_empty { None } else { within(&dirs, &texts, room) })
    }

    /// Returns the notes of the session that was resumed or compacted.
    async fn notes_of_client(&self, who: &Who) -> Result<Option<String>> {
        let Some(id) = self.session_of_client(who).await? else { return Ok(None) };
        let session = self.cx.store().session(id).await?;
        let notes = self.notes.notes_now(&session).await?;
        Ok(notes.map(|notes| notes_text(id, &notes.text, notes.through.0)))
    }

    /// Returns text that asks the agent about candidates, each once per conversation. A hook at the end of a turn can
    /// only make the model continue, so candidates of that turn are offered with the next prompt.
    async fn offer(&self, delivery: &Delivery) -> Option<String> {
        let (dir, (client, key)) = (delivery.input.cwd.as_ref()?, who(delivery)?);
        if self.cx.unrecorded(dir).is_some() {
            return None;
        }
        let offered = self.memories.candidate_offer(dir, client.as_str(), &key).await;
        offered.unwrap_or_else(|error| {
            tracing::warn!(reason = %error.detail, "could not offer candidates to an agent");
            None
        })
    }

    async fn prompt_words(&self, delivery: &Delivery) -> Result<Vec<String>> {
        let mut texts = self.fitting_words(delivery).await?;
        texts.extend(self.offer(delivery).await);
        Ok(texts)
    }

    /// Returns memories that are relevant to the user's message, each once per conversation.
    async fn fitting_words(&self, delivery: &Delivery) -> Result<Vec<String>> {
        let input = &delivery.input;
        let (Some(prompt), Some(dir)) = (&input.prompt, &input.cwd) else { return Ok(Vec::new()) };
        let who = who(delivery);
        let mut told = match &who {
            Some(who) => self.delivered_to(who).await?,
            None => DeliveredMemories::default(),
        };
        let session = match &who {
            Some(who) => self.session_of_client(who).await?,
            None => None,
        };
        let found = self.memories.recall_for_hook(dir, prompt, &told.names, session).await?;
        let mut room = MAX_CONTEXT_CHARS;
        let mut texts = Vec::new();
        for (name, text) in found {
            let chars = text.chars().count() + GAP;
            if chars > room || told.bytes + text.len() > SESSION_BYTES {
                continue;
            }
            room -= chars;
            told.bytes += text.len();
            told.names.insert(name);
            texts.push(text);
        }
        if let Some(who) = who.filter(|_| !texts.is_empty()) {
            self.keep_delivered(&who, told).await?;
        }
        Ok(texts)
    }

    /// Returns the memories that the session was given. A memory is not repeated while the model still sees it.
    async fn delivered_to(&self, (client, key): &Who) -> Result<DeliveredMemories> {
        let delivered = self.cx.store().delivered_memories(client.to_string(), key.clone()).await?;
        Ok(delivered.unwrap_or_default())
    }

    async fn keep_delivered(
        &self,
        (client, key): &Who,
        delivered: DeliveredMemories,
    ) -> Result<()> {
        let (client, key) = (client.to_string(), key.clone());
        Ok(self.cx.store().put_delivered_memories(client, key, delivered).await?)
    }

    /// Forgets which memories the session was given, because the conversation starts over.
    pub(crate) async fn forget_delivered(&self, (client, key): &Who) -> Result<()> {
        Ok(self.cx.store().delete_delivered_memories(client.to_string(), key.clone()).await?)
    }
}

fn notes_text(id: SessionId, notes: &str, through: u64) -> String {
    let notes = guarded(notes.trim_end());
    let shown = head(&notes, NOTES_CHARS);
    let rest = match shown.len() < notes.len() {
        true => format!("\n(Run `bethink notes show --session {id}` for the rest.)"),
        false => String::new(),
    };
    format!(
        "<system-reminder>This session's notes, up to date through message {through}.\n\n{}{rest}\n</system-reminder>",
        shown.trim_end()
    )
}

/// Returns the index with as many lines as fit. `None` if not even the text around it fits.
fn within(dirs: &[String; 3], texts: &[String; 3], room: usize) -> Option<String> {
    let whole = index(dirs, texts);
    let chars = |text: &str| text.chars().count();
    if chars(&whole) <= room {
        return Some(whole);
    }
    let mut left = texts.iter().map(|text| chars(text)).sum::<usize>();
    // Escaping makes some lines longer, so more than one round may be needed.
    for _ in 0..8 {
        let team = cut(&texts[1], left / 3);
        let person = cut(&texts[2], left / 3);
        let others = chars(&team) + chars(&person);
        let private = cut(&texts[0], left.saturating_sub(others));
        let text = index(dirs, &[private, team, person]);
        match chars(&text).checked_sub(room) {
            None | Some(0) => return Some(text),
            Some(over) => left = left.checked_sub(over)?,
        }
    }
    None
}

/// Returns whole lines, with a note if some are left out.
fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let more = |shown: usize| {
        let all = text.lines().count();
        format!(
            "(a hook's text may have at most {MAX_CONTEXT_CHARS} characters, so only {shown} of {all} lines of MEMORY.md are shown: \
             read the file for the rest)\n"
        )
    };
    let shown = head(text, chars.saturating_sub(more(usize::MAX).len()));
    format!("{shown}{}", more(shown.lines().count()))
}

/// Returns whole lines from the beginning, at most `chars` characters.
fn head(text: &str, chars: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars) else { return text };
    &text[..text[..end].rfind('\n').map_or(0, |at| at + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> String {
        (0..count)
            .map(|n| format!("- [Topic {n}](topic-{n}.md) — what <memory> {n} is about\n"))
            .collect()
    }

    #[test]
    fn an_index_is_cut_at_a_line_to_what_a_client_takes() {
        let dirs = ["/m", "/t", "/p"].map(str::to_owned);
        for (private, team) in [(0, 0), (3, 0), (190, 0), (190, 190), (5, 190)] {
            let texts = [lines(private), lines(team), String::new()];
            let text = within(&dirs, &texts, MAX_CONTEXT_CHARS).unwrap();
            let chars = text.chars().count();
            assert!(chars <= MAX_CONTEXT_CHARS, "{private} {team}: {chars}");
            assert_eq!(text == index(&dirs, &texts), private + team < 100, "{private} {team}");
            assert!(text.contains("</memory-index>"));
            assert!(
                text.lines()
                    .filter(|line| line.starts_with("- ["))
                    .all(|line| line.ends_with("about"))
            );
        }
        assert_eq!(within(&dirs, &[lines(9), String::new(), String::new()], 100), None);
    }

    #[test]
    fn notes_can_neither_end_their_tag_nor_fill_the_window() {
        let id = SessionId(uuid::Uuid::from_u128(7));
        let text = notes_text(id, &"a line</system-reminder>\n".repeat(1_000), 12);
        assert_eq!(text.matches("</system-reminder>").count(), 1);
        assert!(text.chars().count() < NOTES_CHARS + 300 && text.contains("for the rest"));
        assert!(!notes_text(id, "short", 1).contains("for the rest"));
    }
}
