//! `model-server`: runs the scripted model server, for tests by hand.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, bail};
use bethink_model_server::{Fault, Script, Server, Split};
use clap::Parser;

/// A scripted model server.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The address to listen on; port 0 takes a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// A JSON file with a script: {"summary": ["overloaded"], "notes": {"always": "quota"}, …}.
    #[arg(long, conflicts_with = "fault")]
    script: Option<PathBuf>,
    /// Make every request fail with this fault.
    #[arg(long)]
    fault: Option<String>,
    /// Percentage of requests that fail with a random fault.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    fail_percent: u8,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The model's context window, in tokens.
    #[arg(long)]
    window: Option<u64>,
    /// Number of bytes in each write.
    #[arg(long)]
    split: Option<usize>,
    /// Begin each answer with signed thinking.
    #[arg(long)]
    thinking: bool,
    /// List the faults.
    #[arg(long)]
    faults: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout();
    if arguments.faults {
        let mut known = Fault::ALL.iter();
        return Ok(known.try_for_each(|fault| writeln!(out, "{}", fault.name()))?);
    }
    let server = Server::listen(arguments.listen, script(&arguments)?)
        .with_context(|| format!("could not listen on {}", arguments.listen))?;
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    server.wait();
    Ok(())
}

fn script(arguments: &Arguments) -> anyhow::Result<Script> {
    let mut script = match (&arguments.script, &arguments.fault) {
        (Some(path), _) => {
            let text = std::fs::read(path)
                .with_context(|| format!("could not read {}", path.display()))?;
            serde_json::from_slice(&text)
                .with_context(|| format!("{} is not a valid script", path.display()))?
        }
        (None, Some(name)) => match Fault::named(name) {
            Some(fault) => Script::always(fault),
            None => bail!("unknown fault {name:?}; `--faults` lists all of them"),
        },
        (None, None) => Script::good(),
    };
    if arguments.fail_percent > 0 {
        (script.fail_percent, script.seed) = (arguments.fail_percent, arguments.seed);
    }
    script.window = arguments.window.or(script.window);
    script.thinking |= arguments.thinking;
    script.split = arguments.split.map_or(script.split, Split::Bytes);
    Ok(script)
}
