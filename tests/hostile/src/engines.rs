//! The engines: one function for each reader of text from outside, as the services call it.

mod memory;
mod prompts;
mod sessions;
mod terminal;

/// One reader of text from outside.
#[derive(Clone, Copy, Debug)]
pub struct TextEngine {
    pub name: &'static str,
    /// Reads a text in every way that the services do, and drops the results.
    pub read: fn(&str),
}

/// Returns a text in parts of equal size, for a reader of several texts.
fn parts<const N: usize>(text: &str) -> [&str; N] {
    let size = text.len().div_ceil(N);
    std::array::from_fn(|at| {
        let [from, to] = [at, at + 1].map(|at| text.floor_char_boundary(at * size));
        &text[from..to]
    })
}

const fn of(name: &'static str, read: fn(&str)) -> TextEngine {
    TextEngine { name, read }
}

/// All engines, in the order of their crates' names.
pub const ENGINES: &[TextEngine] = &[
    of("compactor: instructions, answers", prompts::compactor),
    of("compactor: embedded summary", sessions::summary),
    of("compactor: text of a span", sessions::span),
    of("context: view, placeholders", sessions::view),
    of("days: dates", prompts::dates),
    of("dream: plan", memory::dream),
    of("encoder: word pieces", memory::word_pieces),
    of("extractor: rules", memory::extraction),
    of("extractor: many statements", memory::statements),
    of("extractor: comparison with topics", memory::comparison),
    of("extractor: a model's calls", memory::desk),
    of("facts: messages", sessions::facts),
    of("facts: tool results", sessions::tool_results),
    of("hook-events: input", sessions::hooks),
    of("install: other programs' settings", terminal::settings),
    of("instructions: file, imports", memory::instructions),
    of("instructions: patterns", memory::rule_patterns),
    of("memdir: front matter", memory::front_matter),
    of("memdir: a topic added to or removed from the index", memory::edited_index),
    of("memdir: index that follows its topics", memory::followed_index),
    of("memdir: index rebuilt", memory::rebuilt_index),
    of("memdir: rejected proposals", memory::rejected),
    of("memdir: index", memory::index),
    of("memdir: several indexes", memory::indexes),
    of("memdir: lint", memory::lint),
    of("memdir: prompts, tool", memory::shown),
    of("model: provider's errors", prompts::provider_errors),
    of("names: names, words, statements", prompts::names),
    of("prefix-match: comparison of messages", sessions::likeness),
    of("recall: questions", prompts::questions),
    of("recall: index of messages", sessions::indexed),
    of("recall: snippets", prompts::snippets),
    of("recall: marks", prompts::marks),
    of("recall: topics", memory::topics),
    of("secrets: scan", prompts::secrets),
    of("session-file: lines", sessions::session_file),
    of("agent-transcript: Codex", sessions::codex),
    of("agent-transcript: Gemini CLI", sessions::gemini),
    of("agent-transcript: Qwen Code", sessions::qwen),
    of("agent-transcript: opencode", sessions::opencode),
    of("agent-transcript: pi", sessions::pi),
    of("agent-transcript: Cline", sessions::cline),
    of("agent-transcript: Continue", sessions::continue_dev),
    of("session-memory: notes", memory::notes),
    of("session-memory: edited notes, templates", memory::edited_notes),
    of("session-memory: notes from facts", sessions::notes),
    of("sse: events", prompts::events),
    of("terminal: escapes", terminal::escapes),
    of("terminal: styled lines", terminal::lines),
    of("terminal: paragraphs", terminal::paragraphs),
    of("tokens: counts", prompts::tokens),
    of("transcript: JSON", sessions::json),
    of("transcript: messages, titles", sessions::messages),
];
