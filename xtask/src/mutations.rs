//! `cargo xtask mutations`: removes each safeguard, and expects a test to fail.
//!
//! `tests/mutations.toml` lists the safeguards. Each one is removed in a copy of the working tree, and only the test
//! that protects it is run. A safeguard whose removal no test notices is reported as `survived`.
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
    let unchanged = passing_targets(&trial, &chosen, out)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for mutation in &chosen {
        let target = (mutation.package.as_str(), mutation.target.as_str());
        let result = match unchanged.get(&target) {
            Some(true) => trial.run(mutation)?,
            _ => TrialResult::FailsUnchanged,
        };
        *counts.entry(result.as_str()).or_default() += 1;
        let Mutation { name, package, test, .. } = mutation;
        writeln!(out, "{:<16} {name:<28} {package} {test}", result.as_str())?;
        out.flush()?;
    }
    let summary: Vec<String> = counts.iter().map(|(what, n)| format!("{n} {what}")).collect();
    writeln!(out, "{} safeguards: {}", chosen.len(), summary.join(", "))?;
    let killed = counts.get(TrialResult::Killed.as_str()).copied().unwrap_or_default();
    ensure!(killed == chosen.len(), "a safeguard can be removed without any test failing");
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

/// A package and a target of it.
type TestTarget<'a> = (&'a str, &'a str);

/// Runs the tests without a mutation first: a test that fails anyway shows nothing.
fn passing_targets<'a>(
    trial: &Trial<'_>,
    chosen: &'a [Mutation],
    out: &mut impl Write,
) -> Result<BTreeMap<TestTarget<'a>, bool>> {
    let mut tests: BTreeMap<TestTarget<'_>, Vec<&str>> = BTreeMap::new();
    for Mutation { package, target, test, .. } in chosen {
        tests.entry((package, target)).or_default().push(test);
    }
    let mut passing = BTreeMap::new();
    for ((package, target), tests) in tests {
        let passes = trial.passes(package, target, &tests)?;
        if !passes {
            writeln!(out, "fails without a mutation, or runs no test: {package} {target}")?;
        }
        passing.insert((package, target), passes);
    }
    Ok(passing)
}
