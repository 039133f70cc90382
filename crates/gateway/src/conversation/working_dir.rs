//! Finds a client's working directory in the text of its prompt.

use std::path::Path;

use bethink_transcript::json;
use bytes::Bytes;
use memchr::memmem;

/// The text that known clients put before the directory, and the characters that end the directory. The clients are, in
/// order: Claude Code and opencode; Codex; Cline and Roo Code; Qwen Code; Gemini CLI, which may list several
/// directories.
const PATTERNS: [(&str, &[char]); 7] = [
    ("orking directory: ", &['\n', '<']),
    ("<cwd>", &['\n', '<']),
    ("Current Working Directory (", &['\n', ')']),
    ("Current Workspace Directory (", &['\n', ')']),
    ("orking Directory: ", &['\n', '<']),
    ("working in the directory: ", &['\n', '<']),
    ("- **Workspace Directories:**\n  - ", &['\n', '<']),
];

/// Number of messages that are searched: Claude Code describes its environment in the second message.
const FIRST_MESSAGES: usize = 2;
/// Maximum number of bytes of each message that are searched.
const FIRST_BYTES: usize = 64 * 1024;
const MAX_DIR: usize = 4_096;

/// Returns the absolute path of the directory that the client states. The directory may not exist.
pub(super) fn stated_dir(system: &str, messages: &[Bytes]) -> Option<String> {
    stated_in(system).or_else(|| messages.iter().take(FIRST_MESSAGES).find_map(stated_in_json))
}

fn stated_in_json(message: &Bytes) -> Option<String> {
    let head = message.get(..message.len().min(FIRST_BYTES))?;
    // Line endings are escaped.
    let text = String::from_utf8_lossy(head).replace("\\n", "\n");
    stated_in(&text).map(|dir| json::decode_string(&format!("\"{dir}\"")).into_owned())
}

fn stated_in(text: &str) -> Option<String> {
    PATTERNS.iter().find_map(|(before, ends)| {
        let mut places = memmem::find_iter(text.as_bytes(), before);
        places.find_map(|at| {
            let rest = text.get(at + before.len()..)?;
            let dir = rest.split(|c| ends.contains(&c)).next()?.trim();
            let is_one = dir.starts_with('/') && dir.len() <= MAX_DIR && !dir.contains('"');
            is_one.then(|| dir.to_owned())
        })
    })
}

/// Returns `dir` if it is an absolute path of an existing directory.
pub(super) async fn existing(dir: Option<&str>) -> Option<String> {
    let dir = dir.filter(|dir| Path::new(dir).is_absolute())?;
    let found = tokio::fs::metadata(dir).await.ok()?;
    found.is_dir().then(|| dir.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[test]
    fn clients_say_where_they_work() {
        for (text, expect) in [
            ("<env>\nWorking directory: /home/p/x\nIs it a git repository: yes", Some("/home/p/x")),
            (" - Primary working directory: /home/p/x\n", Some("/home/p/x")),
            ("<cwd>/home/p/x</cwd>", Some("/home/p/x")),
            ("# Current Working Directory (/home/p/x) Files\na.rs", Some("/home/p/x")),
            ("# Current Workspace Directory (/home/p/x y) Files", Some("/home/p/x y")),
            ("3. Home Directory: /root\n4. Working Directory: /home/p/x\n", Some("/home/p/x")),
            ("I'm currently working in the directory: /home/p/x\n", Some("/home/p/x")),
            ("- **Workspace Directories:**\n  - /home/p/x\n  - /home/p/y\n", Some("/home/p/x")),
            ("Working directory: unknown\nWorking directory: /b", Some("/b")),
            ("Working directory: relative/path", None),
            ("You are helpful.", None),
        ] {
            assert_eq!(stated_dir(text, &[]).as_deref(), expect, "{text}");
        }
        let first = Bytes::from_static(
            br#"{"role":"user","content":[{"type":"text","text":"<environment_context>\n  <cwd>/home/p/x</cwd>\n"}]}"#,
        );
        assert_eq!(stated_dir("", &[Bytes::from("{}"), first]).as_deref(), Some("/home/p/x"));
    }

    #[tokio::test]
    async fn only_what_is_there_counts() {
        let home = tempfile::tempdir().unwrap();
        let here = home.path().display().to_string();
        assert_eq!(existing(Some(&here)).await, Some(here.clone()));
        assert_eq!(existing(Some(&format!("{here}/gone"))).await, None);
        assert_eq!(existing(Some("relative")).await, None);
        assert_eq!(existing(None).await, None);
    }
}
