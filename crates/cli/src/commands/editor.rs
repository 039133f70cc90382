//! Opens text in the user's editor, in a temporary file that is kept until the text is saved.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use bethink_client::ClientError;

use crate::app::CliApp;
use crate::failure::CliFailure;

/// Opens `text` in `$VISUAL` or `$EDITOR`, in a file named after `what`. Returns the file and its new text. If the
/// editor fails, a note names the file.
pub(super) fn edited(
    app: &mut CliApp,
    what: &str,
    text: &str,
) -> Result<(EditorFile, String), CliFailure> {
    let editor = editor(|name| std::env::var(name).ok())?;
    let draft = EditorFile(write(what, text)?);
    let read = |draft: &EditorFile| {
        fs::read_to_string(&draft.0).map_err(|error| CliFailure::file("read", &draft.0, &error))
    };
    match open(&editor, &draft.0).and_then(|()| read(&draft)) {
        Ok(text) => Ok((draft, text)),
        Err(failure) => {
            app.screen.note(format!("your text is in {}", draft.0.display()))?;
            Err(failure)
        }
    }
}

/// Fails if no editor is set. This is called before anything is fetched.
pub(super) fn check() -> Result<(), CliFailure> {
    editor(|name| std::env::var(name).ok()).map(drop)
}

/// A private temporary file, which outlives this program unless it is discarded.
#[derive(Debug)]
pub(super) struct EditorFile(PathBuf);

impl EditorFile {
    /// Returns the error for text that could not be saved. The error names the file. `newer` says what to do if the daemon
    /// reported a problem of the type `stale`: the original was changed in the meantime.
    pub(super) fn not_saved(&self, error: &ClientError, stale: &str, newer: &str) -> CliFailure {
        let mut hint = format!("your text is kept in {}", self.0.display());
        if error.problem().is_some_and(|problem| problem.kind == stale) {
            hint = format!("{hint}; {newer}");
        }
        CliFailure::hinted(error.to_string(), hint)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn discard(self) {
        // A remaining temporary file does no harm.
        let _left = fs::remove_file(self.0);
    }
}

fn editor(env: impl Fn(&str) -> Option<String>) -> Result<String, CliFailure> {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        CliFailure::hinted(
            "no editor is set",
            "set VISUAL or EDITOR, for example EDITOR=vi, and try again",
        )
    })
}

fn write(what: &str, text: &str) -> Result<PathBuf, CliFailure> {
    let name = format!("bethink-{}-", what.replace('/', "-"));
    let made = tempfile::Builder::new().prefix(&name).suffix(".md").tempfile().and_then(|file| {
        fs::write(file.path(), text)?;
        file.into_temp_path().keep().map_err(|error| error.error)
    });
    made.map_err(|error: io::Error| CliFailure::file("write", &std::env::temp_dir(), &error))
}

/// Runs the editor in a shell, because it may be a command with arguments. The file is passed as a separate argument.
fn open(editor: &str, file: &Path) -> Result<(), CliFailure> {
    let status = Command::new("sh")
        .args(["-c", &format!("exec {editor} \"$1\""), "sh"])
        .arg(file)
        .status()
        .map_err(|error| CliFailure::new(format!("could not run {editor}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(CliFailure::new(format!("{editor} failed ({status}); nothing was changed"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visual_comes_before_editor() {
        let check = |vars: &[(&str, &str)], expect: Option<&str>| {
            let env = |name: &str| {
                vars.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(editor(env).ok().as_deref(), expect, "{vars:?}");
        };
        check(&[("EDITOR", "ed"), ("VISUAL", "vi")], Some("vi"));
        check(&[("EDITOR", "ed -s"), ("VISUAL", " ")], Some("ed -s"));
        check(&[], None);
    }
}
