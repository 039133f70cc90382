//! `model-server`: the scripted model on a port, for trying things out by hand.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, bail};
use bethink_model_server::{Fault, Script, Server, Split};
use clap::Parser;

/// A model's server that answers well, or fails as it is told.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// A script as JSON: {"summary": ["overloaded"], "notes": {"always": "quota"}, …}.
    #[arg(long, conflicts_with = "fault")]
    script: Option<PathBuf>,
    /// Every request fails in this way.
    #[arg(long)]
    fault: Option<String>,
    /// This many requests of a hundred fail in a way drawn by the seed.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    fail_percent: u8,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The model's window in tokens; what is longer is refused.
    #[arg(long)]
    window: Option<u64>,
    /// Bytes of each write.
    #[arg(long)]
    split: Option<usize>,
    /// Answers begin with signed thinking.
    #[arg(long)]
    thinking: bool,
    /// Lists the faults and ends.
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
        .with_context(|| format!("can't listen on {}", arguments.listen))?;
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    server.wait();
    Ok(())
}

fn script(arguments: &Arguments) -> anyhow::Result<Script> {
    let mut script = match (&arguments.script, &arguments.fault) {
        (Some(path), _) => {
            let text =
                std::fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
            serde_json::from_slice(&text)
                .with_context(|| format!("{} is no script", path.display()))?
        }
        (None, Some(name)) => match Fault::named(name) {
            Some(fault) => Script::always(fault),
            None => bail!("there is no fault {name:?}; `--faults` lists them"),
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
