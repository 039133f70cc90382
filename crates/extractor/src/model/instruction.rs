//! The prompt of an extraction: what to remember from the conversation, and how to write it.

use super::shape::Toolset;
use super::table::Table;

/// Maximum number of rows in the list of known topics.
pub const MANIFEST_ROWS: usize = 200;

/// The end of an extraction's prompt.
#[derive(Clone, Copy, Debug)]
pub struct ExtractionInstruction<'a> {
    pub table: &'a Table,
    pub tools: &'a Toolset,
    /// One row per known topic, see [`super::MemoryCopy::manifest`].
    pub manifest: &'a str,
    /// Number of the user's messages since the last extraction.
    pub new_messages: usize,
    pub day: &'a str,
}

const WHAT: &str = include_str!("instruction/what.md").trim_ascii_end();

const FORM: &str = include_str!("instruction/form.md").trim_ascii_end();

impl ExtractionInstruction<'_> {
    pub fn text(&self) -> String {
        let Table { dir, proposals } = self.table;
        let known = if self.manifest.is_empty() {
            "There are no topics yet.".to_owned()
        } else {
            format!("Existing topics:\n\n<memory-manifest>\n{}\n</memory-manifest>", self.manifest)
        };
        let newest = match self.new_messages {
            0 => String::new(),
            1 => "The user's last message is new; earlier ones have already been processed. "
                .to_owned(),
            count => {
                format!(
                    "The user's last {count} messages are new; earlier ones have already been processed. "
                )
            }
        };
        let team = if *proposals {
            format!(
                " Write topics that the whole team should know to {dir}/team/: each topic there is a proposal, which a person approves or rejects."
            )
        } else {
            String::new()
        };
        format!(
            "{WHAT}\n\n{newest}Today is {}. The memory directory is {dir}.{team}\n\n{known}\n\n{FORM}\n\n{}\n",
            self.day,
            self.how_to_write()
        )
    }

    fn how_to_write(&self) -> String {
        let dir = &self.table.dir;
        let Some((tool, path, text)) = self.tools.writer() else {
            return format!(
                "How to write: you cannot call a tool now; every call is refused. Answer with whole topics in this form, one \
                 after the other, or answer that there is nothing to remember:\n\n\
                 <memory file=\"short-name.md\">\n---\n…\n</memory>\n\nEach topic is written to {dir}."
            );
        };
        format!(
            "How to write: call `{}` with the full path in `{path}`, such as `{dir}/short-name.md`, and the whole topic in \
             `{text}`. You only get a few turns, so batch your calls: read every topic that you may have to change in one \
             response, then make every write in the next. Call only these tools, and only on files in {dir}: {}. Every other \
             call is refused, and so is every command that does more than list files. Stop when everything is written.",
            tool.name,
            self.tools.names().join(", "),
        )
    }
}
