//! The log on stderr.

use anyhow::anyhow;
use tracing_subscriber::EnvFilter;

use crate::arguments::LogFormat;

/// Starts the log. `variable` is the value of `BETHINK_LOG`. Without it, `default` is used, the filter from the
/// settings.
pub(crate) fn start(
    format: LogFormat,
    variable: Option<&str>,
    default: &str,
) -> anyhow::Result<()> {
    let filter = match variable.filter(|filter| !filter.is_empty()) {
        Some(filter) => parse("BETHINK_LOG", filter)?,
        None => parse("daemon.log", default)?,
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => log.with_ansi(is_terminal()).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow!("could not start the log: {error}"))
}

fn parse(name: &str, filter: &str) -> anyhow::Result<EnvFilter> {
    // The library `rmcp` logs every request as a connection, and `sqlx` what a database server remarks on a statement that
    // did nothing. The filter can still enable these messages, but not those with lines of `~/.pgpass`.
    let filters = format!(
        "rmcp=warn,sqlx::postgres::notice=warn,{filter},sqlx_postgres::options::pgpass=off"
    );
    EnvFilter::try_new(filters).map_err(|error| {
        anyhow!("`{name}` is {filter:?}: {error}; allowed are error, warn, info, debug, trace, off")
    })
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}
