//! Keeps the daemon serving while its home or its database cannot be written to: reads go on, writes are refused, and work that needs a write
//! is resumed once writing works again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bethink_service::blocking;
use bethink_store::{Damage, OpenReport, StoreError, StoreResult};
use rustix::fs::OFlags;

use crate::{Daemon, NO_FAULT};

/// How often a home that cannot be written to is tested.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// Size of the file that is written to test the home. With less space left, ordinary requests would fail.
const PROBE_BYTES: usize = 1 << 20;

impl Daemon {
    /// Waits for a write to fail, and then tests the home and the database until they can be written to. `behind` says whether the previous
    /// daemon's work still has to be resumed. Nothing runs while all writes succeed.
    pub(crate) async fn watch_storage(self, behind: bool) {
        let stopped = self.cx.stopping().clone().cancelled_owned();
        tokio::select! {
            () = self.heal_storage(behind) => {}
            () = stopped => {}
        }
    }

    async fn heal_storage(&self, mut behind: bool) {
        let store = self.cx.store();
        let noticed = || self.inner.faulty_since.store(self.cx.now().0, Ordering::Relaxed);
        loop {
            tokio::select! {
                () = store.failed() => {
                    noticed();
                    tokio::time::sleep(PROBE_EVERY).await;
                }
                () = self.cx.storage().suspected() => noticed(),
            }
            let mut is_told = false;
            while let Err(fault) = self.probe_storage().await {
                if !is_told {
                    let storage = self.storage_of(&fault);
                    tracing::error!(%fault, "could not write to {storage}; until this is fixed, only what can be read is served");
                    is_told = true;
                }
                tokio::time::sleep(PROBE_EVERY).await;
            }
            if behind {
                match self.catch_up().await {
                    Ok(()) => behind = false,
                    // Try again in the next round.
                    Err(error) => {
                        tracing::warn!(%error, "could not yet resume the previous daemon's work");
                    }
                }
            }
            if is_told {
                tracing::info!("writing works again");
                // Not after each report: a sync may itself have made it.
                self.memories.start_syncs(None);
                self.team_history.resume_later();
            }
            self.cx.jobs().wake();
            self.hooks.drain_spool();
            self.cx.storage().heal();
            self.inner.faulty_since.store(NO_FAULT, Ordering::Relaxed);
        }
    }

    /// Tests whether the home and its database can be written to.
    async fn probe_storage(&self) -> StoreResult<()> {
        let (store, home) = (self.cx.store(), self.cx.settings().home.clone());
        let written = blocking(move || Ok(write_probe(&home))).await;
        let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        self.inner.home_fails.store(written.is_err(), Ordering::Relaxed);
        if let Err(error) = written {
            let fault = StoreError::of_file(&error);
            store.note_fault(fault.clone());
            return Err(fault);
        }
        if let Some(opened) = store.probe().await? {
            self.note_opened(opened).await;
        }
        Ok(())
    }

    /// Reports the state in which the database was found, and plans its next check.
    pub(crate) async fn note_opened(&self, opened: OpenReport) {
        self.inner.check.plan(&opened).await;
        let Some(damage) = opened.damage else { return };
        let report = damage_report(&damage);
        tracing::error!(reason = %damage.reason, "{report}");
        for table in &damage.recovered {
            tracing::warn!(
                table = table.table,
                rows = table.rows,
                spoiled = table.spoiled,
                "recovered"
            );
        }
        // A database is opened for writing only once.
        drop(self.inner.recovered.set(report));
    }
}

/// Says what was recovered and what is missing. What SQLite found is only in the log.
fn damage_report(damage: &Damage) -> String {
    let Some(copy) = &damage.copy else { return damage.reason.clone() };
    let rows = |of: &str| {
        damage
            .recovered
            .iter()
            .filter(|table| table.table == of)
            .map(|table| table.rows)
            .sum::<u64>()
    };
    let missing = match (damage.lost_messages, damage.incomplete_sessions) {
        (0, _) => String::new(),
        (lost, sessions) => format!(
            "; missing messages: {lost}, in {sessions} of these sessions (if you have a session's Claude Code file, run \
             `bethink import FILE`: it becomes a new session)"
        ),
    };
    format!(
        "the database was damaged; {} messages of {} sessions were recovered{missing}; the damaged file is kept as {}",
        rows("messages"),
        rows("sessions"),
        copy.display()
    )
}

/// Writes a file, waits until it is on disk, and removes it.
fn write_probe(home: &Path) -> io::Result<()> {
    let path = home.join("probe");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(&path)?;
    let written = fill(&mut file);
    written.and(std::fs::remove_file(&path))
}

fn fill(file: &mut File) -> io::Result<()> {
    file.write_all(&vec![0; PROBE_BYTES])?;
    file.sync_all()
}
