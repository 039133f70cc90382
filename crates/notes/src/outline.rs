//! A person's own template and instruction, read for each update. If either is invalid, the error is reported and the
//! default is used.

use std::io;
use std::path::{Path, PathBuf};

use bethink_config::Home;
use bethink_service::locked;
use bethink_session_memory::instruction::MAX_INSTRUCTION_BYTES;
use bethink_session_memory::template::MAX_TEMPLATE_BYTES;
use bethink_session_memory::{NotesInstruction, OutlineFault, Template};

use crate::service::NotesService;

/// Claude Code's directory for the template and the instruction, below a person's home directory.
const CLAUDE_CONFIG: &str = ".claude/session-memory/config";

#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) template: Template,
    /// The prompt for a model that writes notes.
    pub(crate) instruction: NotesInstruction,
    pub(crate) faults: Vec<String>,
}

impl NotesService {
    pub(crate) async fn outline(&self) -> Outline {
        let (home, settings) =
            (self.cx.settings().home.clone(), &self.cx.settings().session_memory);
        let (template, prompt) = (settings.template.clone(), settings.prompt.clone());
        // With Claude Code's layout of memory, its own template and instruction are used, too.
        let claude = match self.cx.settings().memory.layout.as_str() {
            "claude" => self.cx.settings().person.clone(),
            _ => None,
        };
        let claude = claude.map(|person| person.join(CLAUDE_CONFIG));
        let read = move || {
            let home = Home::new(home);
            let own = |file: PathBuf| match &claude {
                Some(claude) => claude.join(file.file_name().unwrap_or_default()),
                None => file,
            };
            let named = |name: &str, default| match name {
                "" => (default, false),
                name => (home.path().join(name), true),
            };
            let template = named(&template, own(home.notes_template()));
            let prompt = named(&prompt, own(home.notes_prompt()));
            outline_of(&template, &prompt)
        };
        let outline = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        self.remember_faults(&outline.faults);
        outline
    }

    /// Reads a person's template and instruction, to report errors in them before the first update.
    pub async fn read_outline(&self) {
        self.outline().await;
    }

    /// Returns the errors in a person's template and instruction, as last read.
    pub fn faults(&self) -> Vec<String> {
        locked(&self.inner.faults).clone()
    }

    /// Logs each fault once, not at every update.
    fn remember_faults(&self, faults: &[String]) {
        let mut known = locked(&self.inner.faults);
        for fault in faults.iter().filter(|fault| !known.contains(fault)) {
            tracing::warn!(%fault, "could not use the notes template or instruction; using the default");
        }
        *known = faults.to_vec();
    }
}

/// A person's file, and whether it must exist: a configured file must.
type OwnFile = (PathBuf, bool);

fn outline_of(template: &OwnFile, prompt: &OwnFile) -> Outline {
    let mut faults = Vec::new();
    let template = load(template, MAX_TEMPLATE_BYTES, Template::parse, &mut faults);
    let instruction = load(prompt, MAX_INSTRUCTION_BYTES, NotesInstruction::parse, &mut faults);
    Outline { template, instruction, faults }
}

/// Loads a person's file, or the default.
fn load<T: Default>(
    (path, must_exist): &OwnFile,
    max_bytes: usize,
    parse: impl Fn(&[u8]) -> Result<T, OutlineFault>,
    faults: &mut Vec<String>,
) -> T {
    let parsed = match read(path, max_bytes, *must_exist) {
        Ok(None) => return T::default(),
        Ok(Some(bytes)) => parse(&bytes).map_err(|fault| fault.to_string()),
        Err(error) => Err(error.to_string()),
    };
    parsed.unwrap_or_else(|fault| {
        faults.push(format!("{}: {fault}", path.display()));
        T::default()
    })
}

/// Reads at most one byte more than the limit, which shows that the file is too large.
fn read(path: &Path, max_bytes: usize, must_exist: bool) -> io::Result<Option<Vec<u8>>> {
    use io::Read;
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(max_bytes as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_is_reported_and_the_default_used() {
        let home = tempfile::tempdir().unwrap();
        let (template, prompt) = (home.path().join("template.md"), home.path().join("prompt.md"));
        let given = (prompt.clone(), false);
        let outline = || outline_of(&(template.clone(), false), &given);
        assert_eq!(outline().faults, [""; 0]);
        std::fs::write(&template, "# One\n# one\n").unwrap();
        std::fs::write(&prompt, "no notes").unwrap();
        let broken = outline();
        assert_eq!(broken.template, Template::default());
        assert_eq!(broken.instruction, NotesInstruction::default());
        assert!(broken.faults[0].contains("template.md: line 2 repeats"), "{:?}", broken.faults);
        assert!(broken.faults[1].contains("prompt.md: {{currentNotes}} is missing"));
        std::fs::write(&template, "# One\n").unwrap();
        std::fs::write(&prompt, "x {{currentNotes}}").unwrap();
        let own = outline();
        assert_eq!((own.faults.len(), own.template.sections.len()), (0, 1));
        assert_ne!(own.instruction, NotesInstruction::default());
        let missing = outline_of(&(home.path().join("none.md"), true), &given);
        assert_eq!(missing.faults.len(), 1, "a configured file must exist");
        std::fs::write(&template, vec![b'#'; MAX_TEMPLATE_BYTES * 3]).unwrap();
        assert!(outline().faults[0].contains("65537 bytes"), "{:?}", outline().faults);
    }
}
