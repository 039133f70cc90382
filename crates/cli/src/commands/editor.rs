//! A text in a person's editor, in a file that is never lost while it holds something of theirs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::app::App;
use crate::failure::Failure;

/// Opens `text` in `$VISUAL` or `$EDITOR`, in a file named after `what`; gives the file and what it holds
/// afterwards. Where the editor fails, the person is told where the text lies.
pub(super) fn edited(app: &mut App, what: &str, text: &str) -> Result<(Draft, String), Failure> {
    let editor = editor(|name| std::env::var(name).ok())?;
    let draft = Draft(write(what, text)?);
    let read = |draft: &Draft| {
        fs::read_to_string(&draft.0).map_err(|error| Failure::file("read", &draft.0, &error))
    };
    match open(&editor, &draft.0).and_then(|()| read(&draft)) {
        Ok(text) => Ok((draft, text)),
        Err(failure) => {
            app.screen.note(format!("your text is in {}", draft.0.display()))?;
            Err(failure)
        }
    }
}

/// Whether somebody could edit at all; asked before anything is fetched.
pub(super) fn check() -> Result<(), Failure> {
    editor(|name| std::env::var(name).ok()).map(drop)
}

/// A private file that outlives this program unless it is discarded.
#[derive(Debug)]
pub(super) struct Draft(PathBuf);

impl Draft {
    pub(super) fn file(&self) -> &Path {
        &self.0
    }

    pub(super) fn discard(self) {
        // A leftover in the directory for temporary files harms nobody.
        let _left = fs::remove_file(self.0);
    }
}

fn editor(env: impl Fn(&str) -> Option<String>) -> Result<String, Failure> {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).ok_or_else(|| {
        Failure::hinted(
            "no editor is set",
            "set VISUAL or EDITOR, such as EDITOR=vi, and try again",
        )
    })
}

fn write(what: &str, text: &str) -> Result<PathBuf, Failure> {
    let name = format!("bethink-{}-", what.replace('/', "-"));
    let made = tempfile::Builder::new().prefix(&name).suffix(".md").tempfile().and_then(|file| {
        fs::write(file.path(), text)?;
        file.into_temp_path().keep().map_err(|error| error.error)
    });
    made.map_err(|error: io::Error| Failure::file("write", &std::env::temp_dir(), &error))
}

/// The editor may be a command with arguments, so a shell takes it apart; the file is an argument of
/// its own and no part of the command.
fn open(editor: &str, file: &Path) -> Result<(), Failure> {
    let status = Command::new("sh")
        .args(["-c", &format!("exec {editor} \"$1\""), "sh"])
        .arg(file)
        .status()
        .map_err(|error| Failure::new(format!("we could not run {editor}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("{editor} ended with {status}; nothing was changed"))),
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
