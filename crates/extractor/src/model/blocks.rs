//! Topics as text, `<memory file="fog.md">…</memory>`, for sessions whose client has no tool that writes files. A fork
//! cannot get tools that its session does not have.

use super::shape::FileCall;
use super::table::Table;

const OPEN: &str = "<memory file=\"";
const CLOSE: &str = "</memory>";
/// Maximum number of blocks that are read in an answer; more topics are refused anyway.
const MAX_BLOCKS: usize = 64;

/// Returns the writes in an answer, in order. An incomplete block is skipped and never extends into the next.
pub fn asks(reply: &str, table: &Table) -> Vec<FileCall> {
    let blocks = reply.split(OPEN).skip(1).filter_map(|block| {
        let (file, rest) = block.split_once("\">")?;
        let (text, _) = rest.split_once(CLOSE)?;
        if file.contains(['\n', '<', '>']) {
            return None;
        }
        // A path without a directory is a file in the memory directory.
        let is_path = file.starts_with('/');
        let path = if is_path { file.to_owned() } else { format!("{}/{file}", table.dir) };
        let text = text.replace("\r\n", "\n");
        let text = text.strip_prefix('\n').unwrap_or(&text).to_owned();
        Some(FileCall::Write { path, text })
    });
    blocks.take(MAX_BLOCKS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_blocks_is_unchanged() {
        let table = Table { dir: "/m".to_owned(), proposals: false };
        let write = |path: &str, text: &str| FileCall::Write {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let reply = "First:\n<memory file=\"a.md\">\n---\nname: a\n---\nx\n</memory> then\r\n<memory file=\"/m/b.md\">y</memory>";
        let expect = [write("/m/a.md", "---\nname: a\n---\nx\n"), write("/m/b.md", "y")];
        assert_eq!(asks(reply, &table), expect);
        let broken = "<memory file=\"a.md\">x <memory file=\"b.md\">y</memory><memory>z</memory><memory file=\"c.md";
        assert_eq!(asks(broken, &table), [write("/m/b.md", "y")]);
        assert_eq!(asks(&"<memory file=\"a.md\">x</memory>".repeat(500), &table).len(), MAX_BLOCKS);
        // The table refuses paths outside the directory.
        let outside = asks("<memory file=\"../x.md\">x</memory>", &table).remove(0);
        assert!(table.judge(outside).is_err());
    }
}
