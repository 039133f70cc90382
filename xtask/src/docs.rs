//! `cargo xtask docs`: runs the shell blocks of README.md and docs/*.md.
//!
//! Each page is run by one `sh -eu`, with a new project, home and daemon. A block after a comment `<!-- not run: REASON -->`
//! is skipped, and the reason is printed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

const NOT_RUN: &str = "<!-- not run: ";

/// A fenced `sh` block.
struct Block {
    /// Number of its first line, from 1.
    line: usize,
    text: String,
    /// Why the block is not run; `None` if it is.
    skipped: Option<String>,
}

/// Runs all pages with the programs in the directory `programs`.
pub(crate) fn docs(root: &Path, programs: &Path, out: &mut impl Write) -> Result<()> {
    let mut pages: Vec<PathBuf> = fs::read_dir(root.join("docs"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root.join("README.md"));
    pages.sort();
    let (mut run, mut failed) = (0, Vec::new());
    for page in &pages {
        let name = page.strip_prefix(root).unwrap_or(page).display();
        let blocks = blocks_of(&fs::read_to_string(page)?);
        for block in &blocks {
            if let Some(reason) = &block.skipped {
                writeln!(out, "{name}:{}: not run: {reason}", block.line)?;
            }
        }
        let blocks: Vec<&Block> = blocks.iter().filter(|block| block.skipped.is_none()).collect();
        if blocks.is_empty() {
            continue;
        }
        match run_page(&blocks, programs).with_context(|| format!("could not run {name}"))? {
            None => writeln!(out, "{name}: {} blocks", blocks.len())?,
            Some(output) => failed.push(format!("{name}:\n{output}")),
        }
        run += blocks.len();
    }
    ensure!(failed.is_empty(), "a block failed\n{}", failed.join("\n"));
    ensure!(run > 0, "found no block to run");
    writeln!(out, "{run} blocks run")?;
    Ok(())
}

fn blocks_of(text: &str) -> Vec<Block> {
    let (mut blocks, mut skipped, mut open) = (Vec::new(), None, false);
    for (number, line) in text.lines().enumerate() {
        if open {
            open = line != "```";
            if open && let Some(Block { text, .. }) = blocks.last_mut() {
                *text += line;
                text.push('\n');
            }
        } else if line == "```sh" {
            open = true;
            blocks.push(Block { line: number + 2, text: String::new(), skipped: skipped.take() });
        } else if let Some(reason) = line.strip_prefix(NOT_RUN) {
            skipped = Some(reason.trim_end_matches("-->").trim().to_owned());
        } else {
            skipped = None;
        }
    }
    blocks
}

/// Runs the blocks of a page. Returns the output if a block failed.
fn run_page(blocks: &[&Block], programs: &Path) -> Result<Option<String>> {
    let place = std::env::temp_dir().join(format!("bethink-docs-{}", std::process::id()));
    let (project, person) = (place.join("project"), place.join("person"));
    fs::create_dir_all(person.join(".claude/projects/demo"))?;
    fs::create_dir_all(&project)?;
    fs::write(person.join(".claude/projects/demo/session.jsonl"), RECORDED)?;
    let mut script = String::from("set -eu\n");
    for block in blocks {
        script += &format!("echo '-- line {}'\n", block.line);
        script += &block.text;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs.to_path_buf()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths)?;
    let shell = |script: &str| -> Result<std::process::Output> {
        Command::new("sh")
            .args(["-c", script])
            .current_dir(&project)
            .env("PATH", &path)
            .env("HOME", &person)
            .env("BETHINK_HOME", place.join("home"))
            .env("BETHINK_CONFIG", place.join("config.toml"))
            .env("BETHINK_DAEMON__LISTEN", "127.0.0.1:0")
            .output()
            .context("could not start sh")
    };
    let done = shell(&script)?;
    let down = shell("bethink down --quiet || true")?;
    fs::remove_dir_all(&place)?;
    if !down.status.success() {
        bail!("could not stop the page's daemon");
    }
    let said = [done.stdout, done.stderr].concat();
    Ok((!done.status.success()).then(|| String::from_utf8_lossy(&said).into_owned()))
}

/// A transcript of Claude Code.
const RECORDED: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"5b0c6bd2-3d6f-4f0e-8a55-0d3c3a1f7a01","cwd":"/project","version":"2.0.0","timestamp":"2026-01-05T10:00:00.000Z","message":{"role":"user","content":"Why did the build fail?"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"5b0c6bd2-3d6f-4f0e-8a55-0d3c3a1f7a01","cwd":"/project","version":"2.0.0","timestamp":"2026-01-05T10:00:05.000Z","message":{"id":"msg_1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"A test failed: it expects port 8080, and the server listens on 8081."}]}}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_lines_and_reasons() {
        let text = "a\n```sh\none\ntwo\n```\n<!-- not run: needs a network -->\n```sh\nthree\n```\n\
                    ```toml\nfour\n```\n";
        let found: Vec<_> = blocks_of(text)
            .into_iter()
            .map(|block| (block.line, block.text, block.skipped))
            .collect();
        let expected = [
            (3, "one\ntwo\n".to_owned(), None),
            (8, "three\n".to_owned(), Some("needs a network".to_owned())),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_block_that_fails_fails_its_page() {
        let block = |text: &str| Block { line: 1, text: text.to_owned(), skipped: None };
        let nowhere = Path::new("/nonexistent");
        assert!(run_page(&[&block("bethink() { :; }\ntrue\n")], nowhere).unwrap().is_none());
        let output = run_page(&[&block("bethink() { :; }\necho here; false\n")], nowhere);
        assert!(output.unwrap().is_some_and(|output| output.contains("here")));
    }
}
