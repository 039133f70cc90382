//! Decides whether text may be shared.

use std::fmt;

use bethink_invisible_chars::{Sighting, find};

use crate::{ScannedText, SecretFinding, scan};

/// Maximum number of findings that a message lists; the others are only counted.
const MOST_LISTED: usize = 5;

/// The reasons why text must not be shared with the team. They never contain a secret's value.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct SecretRefusal {
    pub findings: Vec<SecretFinding>,
    pub sightings: Vec<Sighting>,
}

/// Checks text before it is written to, pushed to or pulled from a team's memory.
pub fn gate(name: &str, text: &str) -> Result<(), SecretRefusal> {
    let mut sightings = find(name);
    sightings.iter_mut().for_each(|sighting| sighting.line = 0);
    sightings.extend(find(text));
    let refusal = SecretRefusal { findings: scan(&ScannedText { name, text }), sightings };
    if refusal.is_empty() { Ok(()) } else { Err(refusal) }
}

impl SecretRefusal {
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.sightings.is_empty()
    }

    /// Returns each reason in words, without the value: `line 3: a GitHub token (github-token)`.
    pub fn reasons(&self) -> Vec<String> {
        let findings = self.findings.iter().map(ToString::to_string);
        findings.chain(self.sightings.iter().map(ToString::to_string)).collect()
    }
}

impl fmt::Display for SecretRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = self.reasons();
        write!(f, "{}", reasons[..reasons.len().min(MOST_LISTED)].join("; "))?;
        match reasons.len().saturating_sub(MOST_LISTED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless_passes() {
        assert_eq!(
            gate("deploy", "Deploys go through CI; ask for the key in the vault.\n"),
            Ok(())
        );
    }

    #[test]
    fn a_refusal_names_rule_and_line_and_never_the_value() {
        let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let refused = gate("ci", &format!("---\nname: ci\n---\nuse {key}\nand\u{202e} this\n"));
        let refused = refused.unwrap_err();
        let told = format!("{refused} {refused:?}");
        assert!(told.contains("line 4: a GitHub token (github-token)"), "{told}");
        assert!(told.contains("line 5: a right-to-left override (U+202E)"), "{told}");
        assert!(!told.contains(&key[4..12]), "{told}");
    }

    #[test]
    fn a_name_is_looked_at_too() {
        let refused = gate("notes\u{200b}x", "fine").unwrap_err();
        assert_eq!(refused.reasons(), ["in the name: a zero-width space (U+200B)"]);
    }
}
