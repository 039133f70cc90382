//! Holds back texts that seem to contain a secret: they are not written, recalled or shown to an agent until a person
//! allows the finding. Messages never repeat the line with the secret, or a name that was derived from it.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use bethink_api::MemoryAuthor;
use bethink_memdir::{Name, Scope};
use bethink_secrets::{ScannedText, SecretFinding, scan};
use bethink_service::{Result, ServiceError};
use bethink_store::SecretAllowance;

use crate::directory::{DirectorySnapshot, MemoryDirectory, MemoryTopic};
use crate::memory_write::MemoryWrite;
use crate::read::{MemoryText, file_of};
use crate::secret_lines::{key_of, line_hash};
use crate::service::MemoryService;

/// Maximum number of findings that a message lists; the others are only counted.
const MOST_LISTED: usize = 5;

impl MemoryService {
    /// Returns the findings in a text that nobody has allowed in this directory.
    pub(crate) async fn held_back(
        &self,
        directory: &MemoryDirectory,
        text: &str,
    ) -> Result<Vec<SecretFinding>> {
        let mut findings = scan(&ScannedText { name: "", text });
        if findings.is_empty() {
            return Ok(findings);
        }
        let allowed = self.allowed_in(directory).await?;
        findings.retain(|finding| !allowed.contains(&key_of(text, finding)));
        Ok(findings)
    }

    /// Returns the topics with a finding that nobody has allowed. Prompts leave out their lines in the index.
    pub(crate) async fn held_back_topics(
        &self,
        directory: &MemoryDirectory,
        shown: &DirectorySnapshot,
    ) -> Vec<Name> {
        let topics = shown.topics.values().filter(|topic| !topic.secrets.is_empty());
        let mut topics: Vec<&Arc<MemoryTopic>> = topics.collect();
        if topics.is_empty() {
            return Vec::new();
        }
        let allowed = self.allowed_in(directory).await.unwrap_or_else(|error| {
            tracing::warn!(reason = %error.detail, "could not read which secrets are allowed; none counts as allowed");
            HashSet::new()
        });
        topics.retain(|topic| !topic.secrets.iter().all(|secret| allowed.contains(secret)));
        topics.iter().map(|topic| topic.name.clone()).collect()
    }

    /// Returns the rule and the line's hash of each allowed finding.
    async fn allowed_in(&self, directory: &MemoryDirectory) -> Result<HashSet<(String, String)>> {
        let allowed = self.cx.store().secret_allowances(directory.key.clone()).await?;
        Ok(allowed.into_iter().map(|one| (one.rule, one.line)).collect())
    }

    /// Returns an error if a text to remember has a finding that nobody has allowed. The error's line numbers refer to
    /// that text.
    pub(crate) async fn check_words(
        &self,
        (scope, directory): (Scope, &MemoryDirectory),
        text: &str,
        by: MemoryAuthor,
    ) -> Result<()> {
        if scope == Scope::Team {
            return team_gate(text);
        }
        let findings = self.held_back(directory, text).await?;
        if findings.is_empty() { Ok(()) } else { Err(refusal(&findings, by)) }
    }

    /// Returns an error if a private text has a finding that nobody has allowed.
    pub(crate) async fn check_for_secrets(
        &self,
        directory: &MemoryDirectory,
        write: &MemoryWrite,
        text: &str,
    ) -> Result<()> {
        let name = write.file.path();
        if scan(&ScannedText { name: &name, text: "" }).iter().any(|found| found.line == 0) {
            return Err(ServiceError::invalid(
                "name",
                "the name contains what looks like a secret",
            )
            .hint("nothing was written; choose another name"));
        }
        self.check_words((write.scope, directory), text, write.author.by).await
    }

    /// Like [`Self::memory`], but for an agent: for a text that is held back, returns an error that lists the findings.
    pub async fn memory_for_agent(
        &self,
        project_dir: &str,
        scope: Scope,
        name: &str,
    ) -> Result<MemoryText> {
        let read = self.memory(project_dir, scope, name).await?;
        let project = self.project(project_dir).await?;
        let findings = self.held_back(project.directory(scope), &read.text).await?;
        if findings.is_empty() {
            return Ok(read);
        }
        let detail = format!(
            "the topic seems to contain a secret, so agents cannot read it: {}",
            listed(&findings)
        );
        Err(ServiceError::conflict(detail).hint("only a person can allow agents to read it"))
    }

    /// Records which findings a person allows in a text that they are about to write to a topic.
    pub async fn allow_secrets_of(
        &self,
        project_dir: &str,
        scope: Scope,
        name: &str,
        text: &str,
        allowed: &[String],
    ) -> Result<()> {
        let project = self.project(project_dir).await?;
        let place = (scope, &**project.directory(scope));
        self.allow_secrets(place, &file_of(name)?.path(), text, allowed).await
    }

    /// Records which findings in a text a person allows. Each finding is given as `RULE`, or as `RULE:LINE` if a rule
    /// has several findings.
    pub(crate) async fn allow_secrets(
        &self,
        (scope, directory): (Scope, &MemoryDirectory),
        file: &str,
        text: &str,
        allowed: &[String],
    ) -> Result<()> {
        if allowed.is_empty() {
            return Ok(());
        }
        if scope == Scope::Team {
            let why = "secrets cannot be allowed in the team's memory, because everyone on the team would get them";
            return Err(ServiceError::invalid("allow_secret", why));
        }
        let findings = scan(&ScannedText { name: "", text });
        for named in allowed {
            let finding = named_finding(&findings, named)?;
            let allowance = SecretAllowance {
                file: file.to_owned(),
                rule: finding.rule.to_owned(),
                line: line_hash(text, finding),
                by: MemoryAuthor::Person,
                at: self.cx.now(),
            };
            self.cx.store().allow_secret(directory.key.clone(), allowance).await?;
        }
        Ok(())
    }
}

/// Rejects secrets and invisible characters in team memory. The error does not repeat the file's name, which may have
/// been made from the text.
pub(crate) fn team_gate(text: &str) -> Result<()> {
    bethink_secrets::gate("", text).map_err(|error| {
        ServiceError::invalid("text", format!("the text cannot be shared with the team: {error}"))
            .hint("nothing was written; remove the secret or the invisible characters, or keep the memory private")
    })
}

/// Returns an error that names each finding by rule and line.
fn refusal(findings: &[SecretFinding], by: MemoryAuthor) -> ServiceError {
    let detail = format!("the text contains what looks like a secret: {}", listed(findings));
    let hint = match (by, findings.first()) {
        (MemoryAuthor::Person, Some(first)) => format!(
            "nothing was written; remove the secret, or allow it with `--allow-secret {}` (`allow_secret` in the API)",
            first.rule
        ),
        _ => "nothing was written; remove the secret".to_owned(),
    };
    ServiceError::invalid("text", detail).hint(hint)
}

/// Returns the findings as `line 3: a GitHub token (github-token)`, at most [`MOST_LISTED`] of them.
pub(crate) fn listed(findings: &[SecretFinding]) -> String {
    let shown: Vec<String> = findings.iter().take(MOST_LISTED).map(ToString::to_string).collect();
    match findings.len().saturating_sub(MOST_LISTED) {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}

/// Returns a description for a text in which a person allowed a secret. A description derived from the text could show
/// the secret in every prompt. `None` if the text has no findings.
pub(crate) fn description_of(text: &str) -> Option<String> {
    let findings = scan(&ScannedText { name: "", text });
    Some(format!("A note with {}", findings.first()?.what))
}

fn named_finding<'a>(findings: &'a [SecretFinding], named: &str) -> Result<&'a SecretFinding> {
    let (rule, line) = match named.rsplit_once(':') {
        Some((rule, line)) => (rule, line.parse::<usize>().ok()),
        None => (named, None),
    };
    let is_meant = |one: &&SecretFinding| one.rule == rule && line.is_none_or(|at| at == one.line);
    let mut meant = findings.iter().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            let detail = format!("several findings match the rule {rule}: {}", listed(findings));
            let hint = format!("allow each one by its line, such as `{rule}:1`");
            Err(ServiceError::invalid("allow_secret", detail).hint(hint))
        }
        (None, _) => {
            let (detail, hint) = match findings.is_empty() {
                true => (
                    "nothing in the text looks like a secret".to_owned(),
                    "leave out `--allow-secret` (`allow_secret` in the API)",
                ),
                false => (
                    format!("the text has no such finding, only these: {}", listed(findings)),
                    "use the rule in parentheses, or `RULE:LINE`",
                ),
            };
            Err(ServiceError::invalid("allow_secret", detail).hint(hint))
        }
    }
}
