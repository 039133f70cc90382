//! Prints every figure with its goal.
//!
//! `figures [--only PART,…] [--skip PART,…] [--kill-cycles N] [--histories N] [--seed N] [--millions N] [--against BETHINKD] [--data DIR] [FILES…]`

// This program prints to a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bethink_figures::table::{Goal, Row};
use bethink_figures::{
    appends, builds, drive, extraction, gateway, gateway_endless, gateway_streams, histories,
    hooks, hostile, imports, memdir, memory, model_drive, model_notes, model_prefix, needs, notes,
    postgres, prompts, questions, ranking, recall, recording, scale, search, secrets, starts,
    tokens,
};
use bethink_harness::kill_loop;

const PARTS: [&str; 33] = [
    "builds",
    "needs",
    "prompts",
    "histories",
    "appends",
    "postgres",
    "scale",
    "notes",
    "imports",
    "drive",
    "memory",
    "starts",
    "kills",
    "tokens",
    "search",
    "search-postgres",
    "search-team",
    "ranking",
    "recall",
    "questions",
    "extraction",
    "model-notes",
    "model-drive",
    "model-prefix",
    "memdir",
    "memdir-race",
    "memdir-saves",
    "gateway-endless",
    "secrets",
    "gateway",
    "gateway-streams",
    "hooks",
    "hostile",
];

struct Wanted {
    parts: Vec<String>,
    kill_cycles: usize,
    histories: usize,
    seed: u64,
    /// Number of messages, in millions, for the parts `search-postgres` and `search-team`.
    millions: usize,
    /// The other build of the daemon, for the part `builds`.
    against: Option<PathBuf>,
    /// Labelled questions, recorded sessions and conversations, for the part `questions`.
    data: Option<PathBuf>,
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let wanted = match wanted(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            eprintln!(
                "{wrong}\nfigures [--only PART,…] [--skip PART,…] [--kill-cycles N] [--histories N] [--seed N] [--millions N] [--against BETHINKD] [--data DIR] [FILES…]\nparts: {}",
                PARTS.join(" ")
            );
            return ExitCode::from(2);
        }
    };
    if cfg!(debug_assertions) {
        eprintln!("warning: a debug build measures nothing; build with --release");
    }
    let mut missed = 0;
    for part in &wanted.parts {
        for row in rows(part, &wanted) {
            println!("{}", row.line());
            missed += usize::from(!row.is_met());
        }
    }
    println!("{missed} missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn rows(part: &str, wanted: &Wanted) -> Vec<Row> {
    let sessions: Vec<PathBuf> =
        wanted.files.iter().filter(|file| !is_talk(file)).cloned().collect();
    let files = recording::files(&sessions);
    let none = files.is_empty();
    match part {
        "builds" => match &wanted.against {
            Some(other) => builds::rows(other),
            None => {
                eprintln!("builds: no other build given (--against), left out");
                Vec::new()
            }
        },
        "prompts" => prompts::rows(&files),
        "histories" => generated(wanted),
        "appends" => appends::rows(),
        "postgres" => postgres::rows(),
        "scale" => scale::rows(&files),
        "notes" => notes::rows(),
        "needs" | "imports" | "drive" | "memory" | "model-drive" | "model-prefix"
        | "extraction"
            if none =>
        {
            eprintln!("{part}: no recorded sessions given, left out");
            Vec::new()
        }
        "needs" => needs::rows(&files),
        "imports" => imports::rows(&files),
        "drive" => drive::rows(&files),
        "memory" => memory::rows(&files),
        "extraction" => extraction::rows(&files),
        "search" => search::rows(),
        "search-postgres" => search::postgres(wanted.millions),
        "search-team" => search::team(wanted.millions),
        "ranking" => ranking(wanted),
        "recall" => recall::rows(&directories(wanted)),
        "questions" => match &wanted.data {
            Some(data) => questions::rows(data),
            None => {
                eprintln!("questions: no labelled questions given (--data), left out");
                Vec::new()
            }
        },
        "starts" => starts::rows(),
        "tokens" => tokens::rows(&files),
        "model-notes" => model_notes::rows(),
        "model-drive" => model_drive::rows(&files, wanted.seed),
        "model-prefix" => model_prefix::rows(&files),
        "memdir" => memdir::rows(wanted.seed),
        "memdir-race" => memdir::race(wanted.seed),
        "memdir-saves" => memdir::saves(wanted.seed),
        "gateway-endless" => gateway_endless::rows(&sessions),
        "hooks" => hooks::rows(),
        "hostile" => hostile::rows(),
        "secrets" => secrets::rows(wanted.seed),
        "gateway" => gateway::rows(),
        "gateway-streams" => gateway_streams::rows(),
        _ => kills(wanted),
    }
}

fn ranking(wanted: &Wanted) -> Vec<Row> {
    let files: Vec<PathBuf> = wanted.files.iter().filter(|file| is_talk(file)).cloned().collect();
    if files.is_empty() {
        eprintln!("ranking: no conversations in LoCoMo's format (.json) given, left out");
        return Vec::new();
    }
    ranking::rows(&files)
}

/// Returns the memory directories among the arguments.
fn directories(wanted: &Wanted) -> Vec<PathBuf> {
    wanted.files.iter().filter(|file| file.is_dir()).cloned().collect()
}

/// Returns whether a file is a conversation (`.json`); recorded sessions are `.jsonl`.
fn is_talk(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "json")
}

fn generated(wanted: &Wanted) -> Vec<Row> {
    let all = histories::run(wanted.histories, wanted.seed);
    for (seed, fault) in all.invalid.iter().take(5) {
        eprintln!("seed {seed}: {fault}");
    }
    let detail = format!("cut {}, changed {}, seed {}", all.cut, all.changed, wanted.seed);
    vec![
        Row::new("generated histories", all.tried as f64, "", Goal::AtLeast(200_000.0))
            .detail(detail),
        Row::new("invalid among them", all.invalid.len() as f64, "", Goal::AtMost(0.0)),
    ]
}

fn kills(wanted: &Wanted) -> Vec<Row> {
    let tally = kill_loop::run(wanted.kill_cycles, wanted.seed);
    let wrong = tally.audit.wrong.len() + tally.refused.len();
    vec![
        Row::new("kill -9 cycles", tally.cycles as f64, "", Goal::AtLeast(500.0)),
        Row::new("acknowledged writes lost or doubled", wrong as f64, "", Goal::AtMost(0.0))
            .detail(tally.to_string()),
    ]
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let all: Vec<String> = PARTS.map(str::to_owned).to_vec();
    let mut wanted = Wanted {
        parts: all,
        kill_cycles: 500,
        histories: 200_000,
        seed: 1,
        millions: 1,
        against: None,
        data: None,
        files: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        if !argument.starts_with("--") {
            wanted.files.push(argument.into());
            continue;
        }
        let value = arguments.next().ok_or(format!("{argument} wants a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{argument} {value}: {e}"));
        match argument.as_str() {
            "--against" => wanted.against = Some(value.into()),
            "--data" => wanted.data = Some(value.into()),
            "--only" => wanted.parts = parts(&value)?,
            "--skip" => {
                let out = parts(&value)?;
                wanted.parts.retain(|part| !out.contains(part));
            }
            "--kill-cycles" => wanted.kill_cycles = number()? as usize,
            "--histories" => wanted.histories = number()? as usize,
            "--seed" => wanted.seed = number()?,
            "--millions" => wanted.millions = number()? as usize,
            _ => return Err(format!("{argument} is not known")),
        }
    }
    Ok(wanted)
}

fn parts(list: &str) -> Result<Vec<String>, String> {
    let parts: Vec<String> = list.split(',').map(str::to_owned).collect();
    match parts.iter().find(|p| !PARTS.contains(&p.as_str())) {
        Some(unknown) => Err(format!("{unknown} is no part")),
        None => Ok(parts),
    }
}
