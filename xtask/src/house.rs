//! `cargo xtask house`: counts lines, import cycles and names, and compares the counts with goals.
//!
//! Reads only the source text, so it takes a second and needs no build. `cargo xtask figures` measures the running daemon.

mod crates;
mod cycles;
mod imports;
mod lines;
mod modules;
mod names;
mod tokens;
mod workspace;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};

use self::cycles::Cycle;
use self::names::Repeated;
use self::workspace::{Workspace, crate_of};

/// The crate whose lines have a separate goal, because it connects the others.
const COMPOSER: &str = "crates/daemon";

/// One row of the table. `before` is the figure at commit 9d2d0ec, where the renovation began.
struct Row {
    what: &'static str,
    before: &'static str,
    now: usize,
    goal: usize,
    unit: &'static str,
}

impl Row {
    fn is_met(&self) -> bool {
        self.now <= self.goal
    }
}

/// All counts, and the items that were counted.
struct House {
    rows: Vec<Row>,
    lines: Vec<(String, usize)>,
    file_cycles: Vec<Cycle>,
    crate_cycles: Vec<Cycle>,
    public: Vec<Repeated>,
    all: Vec<Repeated>,
}

/// Prints the table. With `--check`, fails if a goal is missed.
pub(crate) fn house(root: &Path, options: &[&str], out: &mut impl std::io::Write) -> Result<()> {
    let (mut check, mut verbose) = (false, false);
    for option in options {
        match *option {
            "--check" => check = true,
            "--verbose" => verbose = true,
            other => bail!("unknown option {other}: use cargo xtask house [--check] [--verbose]"),
        }
    }
    let house = House::of(&Workspace::read(root)?)?;
    out.write_all(house.printed(verbose).as_bytes())?;
    let missed = house.rows.iter().filter(|row| !row.is_met()).count();
    if check && missed > 0 {
        bail!("{missed} of {} goals are missed", house.rows.len());
    }
    Ok(())
}

impl House {
    fn of(workspace: &Workspace) -> Result<Self> {
        let lines = lines::by_crate(workspace);
        let total: usize = lines.iter().map(|(_, count)| count).sum();
        let composer =
            lines.iter().find(|(name, _)| name == COMPOSER).map_or(0, |(_, count)| *count);
        let largest = lines.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let file_cycles = imports::cycles_of_files(workspace)?;
        let crate_cycles = crates::cycles(workspace);
        let public = names::repeated_public(workspace);
        let all = names::repeated(workspace);
        let row = |what, before, now, goal, unit| Row { what, before, now, goal, unit };
        let rows = vec![
            row("lines of daemon", "19,116", composer, 1_000, ""),
            row("largest crate's share of the lines", "21%", percent(largest, total), 9, "%"),
            row("lines in all", "92,641", total, 84_000, ""),
            row(
                "import cycles of more than 2 files inside a crate",
                "18",
                file_cycles.len(),
                0,
                "",
            ),
            row(
                "files in these cycles",
                "170",
                file_cycles.iter().map(|cycle| cycle.0.len()).sum(),
                0,
                "",
            ),
            row("cycles between crates", "0", crate_cycles.len(), 0, ""),
            row("public type names used more than once", "79", public.len(), 10, ""),
            row("type names used more than once", "185", all.len(), 60, ""),
        ];
        Ok(Self { rows, lines, file_cycles, crate_cycles, public, all })
    }

    fn printed(&self, verbose: bool) -> String {
        let mut text = format!("{:<52}{:>10}{:>10}{:>10}\n", "figure", "9d2d0ec", "now", "goal");
        for row in &self.rows {
            let now = format!("{}{}", grouped(row.now), row.unit);
            let goal = format!("≤ {}{}", grouped(row.goal), row.unit);
            let verdict = if row.is_met() { "met" } else { "MISSED" };
            let _ =
                writeln!(text, "{:<52}{:>10}{now:>10}{goal:>10}  {verdict}", row.what, row.before);
        }
        for cycle in self.file_cycles.iter().chain(&self.crate_cycles) {
            let _ = writeln!(
                text,
                "
cycle of {}",
                cycle.0.len()
            );
            for (node, needs) in &cycle.0 {
                let _ = writeln!(text, "  {node}: {}", shortened(needs, crate_of(node)));
            }
        }
        if verbose {
            text.push_str("\nlines\n");
            for (name, count) in &self.lines {
                let _ = writeln!(text, "{:>8}  {name}", grouped(*count));
            }
            list(&mut text, "public type names used more than once", &self.public);
            list(&mut text, "type names used more than once", &self.all);
        }
        text
    }
}

/// Lists what a file needs, without the folder of its crate.
fn shortened(needs: &[String], folder: &str) -> String {
    let source = format!("{folder}/src/");
    needs
        .iter()
        .map(|need| need.strip_prefix(&source).unwrap_or(need))
        .collect::<Vec<_>>()
        .join(", ")
}

fn list(text: &mut String, title: &str, names: &[Repeated]) {
    let _ = writeln!(text, "\n{title}");
    for Repeated { name, places } in names {
        let _ = writeln!(text, "{:>4}  {name}: {}", places.len(), places.join(", "));
    }
}

/// Returns a percentage, rounded up so that a goal is never met by rounding.
fn percent(part: usize, whole: usize) -> usize {
    (100 * part).div_ceil(whole.max(1))
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house(files: &[(&str, &str)]) -> House {
        House::of(&Workspace::of(files)).unwrap()
    }

    #[test]
    fn numbers_are_grouped_and_shares_rounded() {
        assert_eq!(
            ["7", "999", "1,000", "92,641"],
            [7, 999, 1_000, 92_641].map(grouped).as_slice()
        );
        assert_eq!((percent(19_116, 92_641), percent(0, 0), percent(9, 100)), (21, 0, 9));
    }

    #[test]
    fn this_workspace_has_no_cycles_and_no_public_name_twice() {
        let house = House::of(&Workspace::read(crate::root()).unwrap()).unwrap();
        let text = house.printed(true);
        assert!(house.file_cycles.is_empty() && house.crate_cycles.is_empty(), "{text}");
        assert!(house.public.is_empty(), "{text}");
    }

    #[test]
    fn a_goal_is_met_or_missed() {
        let small = house(&[("crates/a/src/lib.rs", "pub struct Only;\n")]);
        let missed: Vec<_> =
            small.rows.iter().filter(|row| !row.is_met()).map(|row| row.what).collect();
        assert_eq!(missed, ["largest crate's share of the lines"], "one crate is all of it");
        let text = small.printed(true);
        assert!(text.contains("MISSED") && text.contains("1  crates/a"), "{text}");
    }

    #[test]
    fn cycles_are_named() {
        let round = house(&[
            ("crates/a/src/lib.rs", "mod x; mod y; mod z;"),
            ("crates/a/src/x.rs", "use crate::y::Y; pub struct X;"),
            ("crates/a/src/y.rs", "use crate::z::Z; pub struct Y;"),
            ("crates/a/src/z.rs", "use crate::x::X; pub struct Z;"),
        ]);
        let text = round.printed(false);
        assert!(
            text.contains(
                "cycle of 3
  crates/a/src/x.rs: y.rs
  crates/a/src/y.rs: z.rs
"
            ),
            "{text}"
        );
    }
}
