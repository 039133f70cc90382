//! Explains the chain to people: which files were loaded, which were not, why, and what to do about it.

use std::path::{Path, PathBuf};

use bethink_api as api;
use bethink_instructions::{InstructionSet, LoadedInstruction, SkippedFile, absolute};
use bethink_service::{Result, blocking};
use bethink_tokens::text_tokens;

use super::standing::{self, InstructionGround, ReadInstructions};
use crate::service::MemoryService;

impl MemoryService {
    /// Reads everything that applies to a working directory. `touched` are files that a session in that directory would
    /// touch.
    pub async fn instructions(
        &self,
        project_dir: &str,
        cwd: Option<String>,
        touched: Vec<String>,
    ) -> Result<api::InstructionChain> {
        let project = self.project(project_dir).await?;
        let dir = absolute(Path::new(project_dir), Path::new(""));
        let cwd = absolute(&dir, Path::new(cwd.as_deref().unwrap_or_default()));
        let touched: Vec<PathBuf> = touched.into_iter().map(PathBuf::from).collect();
        let approved = self.approved(&project).await?;
        let ground = InstructionGround::of(&self.cx);
        let read = move || Ok(standing::read(ground, &dir, &cwd, &touched, approved));
        let read = blocking(read).await?;
        Ok(answer(&read, self.cx.settings().memory.instructions))
    }
}

fn answer(read: &ReadInstructions, enabled: bool) -> api::InstructionChain {
    let InstructionSet { chain, touched, skipped, unlisted } = &*read.found;
    let files = chain.iter().map(|file| loaded(file, false));
    let files = files.chain(touched.iter().map(|file| loaded(file, true)));
    api::InstructionChain {
        enabled,
        root: shown(&read.places.root),
        cwd: shown(&read.places.cwd),
        files: files.collect(),
        skipped: skipped.iter().map(self::skipped).collect(),
        skipped_more: *unlisted as u64,
        approved: read.approved.iter().map(|path| shown(path)).collect(),
    }
}

fn loaded(file: &LoadedInstruction, touched: bool) -> api::InstructionFile {
    api::InstructionFile {
        path: shown(&file.path),
        real_path: (file.real != file.path).then(|| shown(&file.real)),
        kind: file.kind,
        why: file.why.to_string(),
        touched,
        imported_by: file.imported_by.as_deref().map(shown),
        paths: file.patterns.clone(),
        bytes: file.bytes,
        lines: file.lines as u64,
        chars: file.chars as u64,
        tokens: u64::from(text_tokens(&file.content)),
        warnings: file.warnings.clone(),
        content: file.content.clone(),
    }
}

fn skipped(file: &SkippedFile) -> api::SkippedInstruction {
    api::SkippedInstruction {
        path: shown(&file.path),
        reason: file.reason.kind(),
        why: file.why(),
        harmless: file.reason.is_harmless(),
        approve: file.reason.may_approve(),
        imported_by: file.imported_by.as_deref().map(shown),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
