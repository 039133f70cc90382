//! `cargo xtask mutations`: takes each safeguard out, and expects that a test fails.
//!
//! `tests/mutations.toml` lists the safeguards. Each one is taken out in a copy of the working tree, and only the test that
//! protects it is run. A safeguard whose removal no test notices is reported as `survived`.
//!
//! Reading order: `list` → `tree_copy` → `trial`.

mod list;
mod tree_copy;
mod trial;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};

use list::{Mutation, read_list};
use tree_copy::TreeCopy;
use trial::{Trial, TrialResult};

/// Tries the named mutations, or all of them, and prints a table.
pub(crate) fn mutations(
    root: &Path,
    target: &Path,
    names: &[&str],
    out: &mut impl Write,
) -> Result<()> {
    let chosen = chosen(read_list(root)?, names)?;
    let copy = TreeCopy::make(root, &target.join("mutations"), &target.join("debug"))?;
    let trial = Trial { copy: &copy };
    let unchanged = passing_tests(&trial, &chosen, out)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for mutation in &chosen {
        let result = match unchanged.get(mutation.test.as_str()) {
            Some(true) => trial.run(mutation)?,
            _ => TrialResult::FailsUnchanged,
        };
        *counts.entry(result.as_str()).or_default() += 1;
        writeln!(out, "{:<16} {:<44} {}", result.as_str(), mutation.name, mutation.test)?;
        out.flush()?;
    }
    let summary: Vec<String> = counts.iter().map(|(what, n)| format!("{n} {what}")).collect();
    writeln!(out, "{} safeguards: {}", chosen.len(), summary.join(", "))?;
    let killed = counts.get(TrialResult::Killed.as_str()).copied().unwrap_or_default();
    ensure!(killed == chosen.len(), "a safeguard can be taken out without a test that fails");
    Ok(())
}

fn chosen(all: Vec<Mutation>, names: &[&str]) -> Result<Vec<Mutation>> {
    for name in names {
        let known = all.iter().any(|mutation| mutation.name == *name);
        ensure!(known, "no mutation is called {name:?}; see tests/mutations.toml");
    }
    let wanted = |mutation: &Mutation| names.is_empty() || names.contains(&mutation.name.as_str());
    Ok(all.into_iter().filter(wanted).collect())
}

/// Runs each test without a mutation first: a test that fails anyway shows nothing.
fn passing_tests(
    trial: &Trial<'_>,
    chosen: &[Mutation],
    out: &mut impl Write,
) -> Result<BTreeMap<String, bool>> {
    let mut passing = BTreeMap::new();
    for Mutation { test, .. } in chosen {
        if !passing.contains_key(test) {
            let passes = trial.passes(test)?;
            if !passes {
                writeln!(out, "fails without a mutation, or runs no test: {test}")?;
            }
            passing.insert(test.clone(), passes);
        }
    }
    Ok(passing)
}
