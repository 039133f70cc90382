//! A person's own template and instruction, read anew for each update; a broken one is reported and
//! the default used.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use bethink_config::Home;
use bethink_session_memory::instruction::MAX_INSTRUCTION_BYTES;
use bethink_session_memory::template::MAX_TEMPLATE_BYTES;
use bethink_session_memory::{Instruction, Template};

use crate::Daemon;

/// What notes are written by.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) template: Template,
    /// For strategies that ask a model.
    pub(crate) instruction: Instruction,
    pub(crate) faults: Vec<String>,
}

impl Daemon {
    pub(crate) async fn outline(&self) -> Outline {
        let (home, settings) = (self.settings().home.clone(), &self.settings().session_memory);
        let (template, prompt) = (settings.template.clone(), settings.prompt.clone());
        let read = move || {
            let home = Home::new(home);
            read_outline(
                &place(&template, home.notes_template(), home.path()),
                !template.is_empty(),
                &place(&prompt, home.notes_prompt(), home.path()),
                !prompt.is_empty(),
            )
        };
        let outline = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        self.remember_faults(&outline.faults);
        outline
    }

    /// What of a person's configuration of the notes is broken.
    pub(crate) fn notes_faults(&self) -> Vec<String> {
        self.notes_desk().faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Each fault is logged once, not at every update.
    fn remember_faults(&self, faults: &[String]) {
        let desk = self.notes_desk();
        let mut known = desk.faults.lock().unwrap_or_else(PoisonError::into_inner);
        for fault in faults.iter().filter(|fault| !known.contains(fault)) {
            tracing::warn!(%fault, "the default is used for notes");
        }
        *known = faults.to_vec();
    }
}

/// A named file; a relative name is below the home.
fn place(named: &str, default: PathBuf, home: &Path) -> PathBuf {
    if named.is_empty() { default } else { home.join(named) }
}

fn read_outline(template: &Path, must: bool, prompt: &Path, prompt_must: bool) -> Outline {
    let mut outline = Outline::default();
    match read(template, MAX_TEMPLATE_BYTES, must) {
        Ok(None) => {}
        Ok(Some(bytes)) => match Template::parse(&bytes) {
            Ok(own) => outline.template = own,
            Err(fault) => outline.faults.push(format!("{}: {fault}", template.display())),
        },
        Err(error) => outline.faults.push(format!("{}: {error}", template.display())),
    }
    match read(prompt, MAX_INSTRUCTION_BYTES, prompt_must) {
        Ok(None) => {}
        Ok(Some(bytes)) => match Instruction::parse(&bytes) {
            Ok(own) => outline.instruction = own,
            Err(fault) => outline.faults.push(format!("{}: {fault}", prompt.display())),
        },
        Err(error) => outline.faults.push(format!("{}: {error}", prompt.display())),
    }
    outline
}

/// At most one byte more than is allowed: enough to see that there is more.
fn read(path: &Path, most: usize, must_exist: bool) -> io::Result<Option<Vec<u8>>> {
    use io::Read;
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_is_reported_and_the_default_used() {
        let home = tempfile::tempdir().unwrap();
        let (template, prompt) = (home.path().join("template.md"), home.path().join("prompt.md"));
        let outline = || read_outline(&template, false, &prompt, false);
        assert_eq!(outline().faults, [""; 0]);
        std::fs::write(&template, "# One\n# one\n").unwrap();
        std::fs::write(&prompt, "no notes").unwrap();
        let broken = outline();
        assert_eq!(broken.template, Template::default());
        assert_eq!(broken.instruction, Instruction::default());
        assert!(broken.faults[0].contains("template.md: line 2 repeats"), "{:?}", broken.faults);
        assert!(broken.faults[1].contains("prompt.md: {{currentNotes}} is missing"));
        std::fs::write(&template, "# One\n").unwrap();
        std::fs::write(&prompt, "x {{currentNotes}}").unwrap();
        let own = outline();
        assert_eq!((own.faults.len(), own.template.sections.len()), (0, 1));
        assert_ne!(own.instruction, Instruction::default());
        let missing = read_outline(&home.path().join("none.md"), true, &prompt, false);
        assert_eq!(missing.faults.len(), 1, "a file that was named has to be there");
        std::fs::write(&template, vec![b'#'; MAX_TEMPLATE_BYTES * 3]).unwrap();
        assert!(outline().faults[0].contains("65537 bytes"), "{:?}", outline().faults);
    }
}
