//! Reads recorded usage: how much each turn made the prompt grow, and which text it added.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use bethink_session_file::{LineKind, MessageLine, Thread, lines};
use bethink_tokens::TokenCounts;
use bethink_transcript::{Message, Role};

/// The growth of the prompt from one assistant message to the next.
#[derive(Clone, Debug)]
pub struct Growth {
    /// Tokens, according to the provider.
    pub reported: u64,
    /// The answer and the text after it.
    pub counts: TokenCounts,
}

/// The growths in a recording, and why other turns are left out.
#[derive(Clone, Debug, Default)]
pub struct Growths {
    pub name: String,
    pub all: Vec<Growth>,
    pub left_out: BTreeMap<&'static str, usize>,
}

/// The prompt before the newest assistant message.
struct Known {
    id: String,
    model: String,
    prompt: u64,
}

/// Reads a recording, without sidechains, which have separate prompts.
pub fn read(path: &Path) -> Growths {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let name = path.file_stem().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut found = Growths { name, ..Growths::default() };
    let (mut known, mut counts) = (None::<Known>, TokenCounts::default());
    let mut seen = HashSet::new();
    for line in lines(bytes.into()).0 {
        match &line.kind {
            LineKind::Message(line) if line.thread == Thread::Main => {
                if line.is_summary {
                    known = None;
                }
                if line.message.role == Role::Assistant {
                    found.answer(line, &mut known, &mut counts, &mut seen);
                }
                line.message
                    .blocks
                    .iter()
                    .for_each(|b| counts.merge(&TokenCounts::of_block(b, &b.text())));
            }
            LineKind::Boundary { .. } => known = None,
            // Another way in which the client shortens the prompt.
            LineKind::Other
                if memchr::memmem::find(&line.head, b"\"microcompact_boundary\"").is_some() =>
            {
                known = None;
            }
            _ => {}
        }
    }
    found
}

impl Growths {
    fn answer(
        &mut self,
        line: &MessageLine,
        known: &mut Option<Known>,
        counts: &mut TokenCounts,
        seen: &mut HashSet<String>,
    ) {
        let id = id_of(&line.message);
        if known.as_ref().is_some_and(|k| k.id == id) {
            return;
        }
        let grown = std::mem::take(counts);
        let before = known.take();
        let Some(prompt) = prompt_of(&line.message) else { return self.leave("no usage") };
        if !seen.insert(id.clone()) {
            return self.leave("an answer that goes on after another");
        }
        let model = line.message.model.as_deref().unwrap_or_default().to_owned();
        let now = known.insert(Known { id, model, prompt });
        match before {
            None => self.leave("the first after a start or a boundary"),
            Some(before) if before.model != now.model => self.leave("another model"),
            Some(before) if before.prompt >= now.prompt => self.leave("the prompt shrank"),
            Some(before) => {
                self.all.push(Growth { reported: now.prompt - before.prompt, counts: grown });
            }
        }
    }

    fn leave(&mut self, why: &'static str) {
        *self.left_out.entry(why).or_default() += 1;
    }
}

fn id_of(message: &Message) -> String {
    message.assistant_message_id.as_ref().map_or_else(String::new, ToString::to_string)
}

fn prompt_of(message: &Message) -> Option<u64> {
    message.usage.map(|usage| usage.prompt()).filter(|prompt| *prompt > 0)
}
