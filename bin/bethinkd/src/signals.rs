//! The signals that stop the daemon.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `shutdown` on SIGTERM from a service manager, SIGINT from a terminal, or SIGHUP when the terminal closes.
pub(crate) fn cancel_on_stop(shutdown: &CancellationToken) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signals = signal(kind)?;
        let shutdown = shutdown.clone();
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                shutdown.cancel();
            }
        });
    }
    Ok(())
}
