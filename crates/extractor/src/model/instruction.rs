//! What a forked agent is told: to learn from the conversation, and how its memories are written.

use super::shape::Toolset;
use super::table::Table;

/// Rows of the manifest (specification, section 7).
pub const MANIFEST_ROWS: usize = 200;

/// The last words of an extraction's prompt.
#[derive(Clone, Copy, Debug)]
pub struct ExtractionInstruction<'a> {
    pub table: &'a Table,
    pub tools: &'a Toolset,
    /// Rows of what is known, see [`super::MemoryCopy::manifest`].
    pub manifest: &'a str,
    /// Messages of the user since the last extraction.
    pub new_messages: usize,
    pub day: &'a str,
}

const WHAT: &str = include_str!("instruction/what.md").trim_ascii_end();

const FORM: &str = include_str!("instruction/form.md").trim_ascii_end();

impl ExtractionInstruction<'_> {
    pub fn text(&self) -> String {
        let Table { dir, proposals } = self.table;
        let known = if self.manifest.is_empty() {
            "Nothing is known yet.".to_owned()
        } else {
            format!(
                "What is known already:\n\n<memory-manifest>\n{}\n</memory-manifest>",
                self.manifest
            )
        };
        let newest = match self.new_messages {
            0 => String::new(),
            1 => {
                "The newest message of the user is new; the ones before it were looked at already. "
                    .to_owned()
            }
            count => {
                format!(
                    "The newest {count} messages of the user are new; those before them were looked at already. "
                )
            }
        };
        let team = if *proposals {
            format!(
                " What the whole team should know goes to {dir}/team/; it is a proposal that a person decides on."
            )
        } else {
            String::new()
        };
        format!(
            "{WHAT}\n\n{newest}Today is {}. The memory is {dir}.{team}\n\n{known}\n\n{FORM}\n\n{}\n",
            self.day,
            self.way()
        )
    }

    fn way(&self) -> String {
        let dir = &self.table.dir;
        let Some((tool, path, text)) = self.tools.writer() else {
            return format!(
                "How to write: no tool can be called now; every call is refused. Answer with whole topics in this form, one \
                 after the other, or with one sentence that nothing was taught:\n\n<memory file=\"short-name.md\">\n---\n…\n\
                 </memory>\n\nEach is written to {dir}."
            );
        };
        format!(
            "How to write: call `{}` with `{path}` the whole path, such as `{dir}/short-name.md`, and `{text}` the whole topic. \
             First read the topics that you may have to change, all in one answer, then write all in one answer; there are few \
             turns. Only these may be called, and only on files in {dir}: {}. Every other call is refused, and so is each \
             command but a listing. When all is written, stop.",
            tool.name,
            self.tools.names().join(", "),
        )
    }
}
