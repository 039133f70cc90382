//! The daemon's program: reads arguments and settings, starts, and serves until it is stopped. `bethinkd store` copies or
//! checks databases instead.
//!
//! It uses the system's allocator, because mimalloc kept more memory: 19 MB instead of 10 MB when idle, and 130 to 240
//! MB instead of 11 MB after four request bodies of 30 MB.

mod arguments;
mod logging;
mod seal;
mod signals;
mod store;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use bethink_config::{Loaded, Overrides, Settings};
use bethink_daemon::Daemon;
use bethink_gateway::GatewayService;
use clap::Parser;
use tokio_util::sync::CancellationToken;

use crate::arguments::{Arguments, DaemonCommand};

/// Requests are short and the store has its own threads, so more workers would only cost memory.
const WORKERS: usize = 2;
/// How long the threads of disk accesses may take to end, after all other work has ended.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line with all causes. If stderr is a log on a full disk, `bethink` reads it from stdout.
            let told = format!("bethinkd: {error:#}\n");
            if std::io::stderr().write_all(told.as_bytes()).is_err() {
                let _ = std::io::stdout().write_all(told.as_bytes());
            }
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    // All files of the daemon are private, including the database's side files.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let sealed = seal::no_core_dumps();
    let env = |name: &str| std::env::var(name).ok();
    let overrides =
        Overrides { home: arguments.home, config: arguments.config, listen: arguments.listen };
    if let Some(DaemonCommand::Store(command)) = arguments.command {
        return store::run(command, &overrides);
    }
    let Loaded { settings, warnings } = Settings::load(&env, &overrides)?;
    logging::start(arguments.log_format, env("BETHINK_LOG").as_deref(), &settings.daemon.log)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if let Err(error) = sealed {
        tracing::warn!("{error:#}; a crash may leave secrets on disk");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .context("could not start the runtime")?;
    let served = runtime.block_on(serve(settings));
    // A thread may still wait for a disk that does not respond.
    runtime.shutdown_timeout(SHUTDOWN_TIME);
    served
}

/// Starts the daemon, serves requests, and shuts it down.
async fn serve(settings: Settings) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    signals::cancel_on_stop(&shutdown).context("could not listen for signals")?;
    let daemon = tokio::select! {
        booted = Daemon::boot(settings.clone()) => booted?,
        () = shutdown.cancelled() => return Ok(()),
    };
    let entrances = entrances(&daemon, &settings, &shutdown);
    let served = bethink_server::serve(daemon.clone(), &settings, entrances, shutdown).await;
    daemon.shutdown().await;
    Ok(served?)
}

/// Returns the routers that are served in addition to the API.
fn entrances(daemon: &Daemon, settings: &Settings, shutdown: &CancellationToken) -> Vec<Router> {
    let gateway = GatewayService::new(daemon.cx.clone(), daemon.sessions.clone());
    vec![
        bethink_gateway::router(gateway, &settings.gateway),
        bethink_mcp::router(daemon.clone(), shutdown.clone()),
        bethink_dashboard::router(),
    ]
}
