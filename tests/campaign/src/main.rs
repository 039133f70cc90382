//! Runs the attacks, and prints a table.
//!
//! `campaign [--hours N] [--only PART,…] [--attempts PART=N,…] [--seed N]`

// This program prints to a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::Duration;

use bethink_campaign::limit::AttackLimit;
use bethink_campaign::parts::{ALL, Part};

const USAGE: &str = "\
campaign [--hours N] [--only PART,…] [--attempts PART=N,…] [--seed N]
A part ends after its share of the hours, or after so many attempts: kills, cuts, faults, flips, megabytes of load, requests,
or inputs of each parser.";

/// Duration of the short form, which is one of the checks of a change.
const SHORT_HOURS: f64 = 0.05;

struct CampaignRequest {
    hours: f64,
    parts: Vec<Part>,
    /// Maximum number of attempts of a part. Other parts are limited by time.
    attempts: Vec<(String, u64)>,
    seed: u64,
}

fn main() -> ExitCode {
    let request = match request(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(wrong) => {
            let names = ALL.map(|part| part.name).join(" ");
            eprintln!("{wrong}\n{USAGE}\nparts: {names}");
            return ExitCode::from(2);
        }
    };
    let shares: u32 = request.parts.iter().map(|part| part.share).sum();
    let time = Duration::from_secs_f64(request.hours * 3600.0);
    let mut broken = 0;
    println!("seed {}", request.seed);
    for part in &request.parts {
        let attempts = request.attempts.iter().find(|(name, _)| name == part.name);
        let attempts = attempts.map_or(u64::MAX, |(_, attempts)| *attempts);
        let limit = AttackLimit::new(time * part.share / shares.max(1), attempts);
        for result in (part.run)(limit, request.seed) {
            println!("{result}");
            print!("{}", result.details());
            broken += result.broken.len();
        }
    }
    println!("{broken} broken");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn request(mut arguments: impl Iterator<Item = String>) -> Result<CampaignRequest, String> {
    let (parts, attempts) = (ALL.to_vec(), Vec::new());
    let mut request = CampaignRequest { hours: SHORT_HOURS, parts, attempts, seed: 1 };
    let is_part = |name: &str| ALL.iter().any(|part| part.name == name);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        let wrong = |error: &dyn std::fmt::Display| format!("{argument} {value}: {error}");
        match argument.as_str() {
            "--hours" => {
                let hours: f64 = value.parse().map_err(|e| wrong(&e))?;
                request.hours = hours.clamp(0.0, 1000.0);
            }
            "--seed" => request.seed = value.parse().map_err(|e| wrong(&e))?,
            "--only" => {
                let names: Vec<&str> = value.split(',').collect();
                if let Some(name) = names.iter().find(|name| !is_part(name)) {
                    return Err(wrong(&format!("there is no part {name}")));
                }
                request.parts.retain(|part| names.contains(&part.name));
            }
            "--attempts" => {
                for size in value.split(',') {
                    let (name, attempts) = size.split_once('=').unwrap_or((size, ""));
                    if !is_part(name) {
                        return Err(wrong(&format!("there is no part {name}")));
                    }
                    let attempts = attempts.parse().map_err(|e| wrong(&e))?;
                    request.attempts.push((name.to_owned(), attempts));
                }
            }
            _ => return Err(format!("{argument} is not known")),
        }
    }
    Ok(request)
}
