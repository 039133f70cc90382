//! Files that show whether the simulated disk loses data as it should: one is synced after each line, the others never.
//! One of those is written by SQLite, with the setting that a daemon must not use.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use bethink_harness::writes::WriteClock;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::runtime::{Builder, Runtime};

const SYNCED: &str = "control-synced";
const UNSYNCED: &str = "control-unsynced";
const OFF: &str = "control-off.db";
/// A line is longer than a sector, so that it can be torn.
const LINE: usize = 600;

/// Writes lines to all files, and remembers when each one was done.
#[derive(Debug)]
pub struct ControlWriter {
    synced: File,
    unsynced: File,
    /// A database whose commits are never synced. Open while lines are written.
    off: Option<SqliteConnection>,
    runtime: Runtime,
    /// The time when each line was written.
    done: Vec<u64>,
}

/// Whether a cut lost lines of each file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlLoss {
    pub synced: bool,
    pub unsynced: bool,
    pub off: bool,
    /// Whether lines were written before the cut.
    pub is_due: bool,
}

impl ControlWriter {
    pub fn new(dir: &Path) -> std::io::Result<Self> {
        let new = |name: &str| OpenOptions::new().append(true).create(true).open(dir.join(name));
        let runtime = Builder::new_current_thread().build()?;
        let off = Some(runtime.block_on(database(dir)).map_err(std::io::Error::other)?);
        let (synced, unsynced) = (new(SYNCED)?, new(UNSYNCED)?);
        File::open(dir)?.sync_all()?;
        Ok(Self { synced, unsynced, off, runtime, done: Vec::new() })
    }

    pub fn line(&mut self, clock: &WriteClock) -> std::io::Result<()> {
        let line = format!("{:>width$}\n", self.done.len(), width = LINE - 1);
        if let Some(off) = &mut self.off {
            let insert = sqlx::query("INSERT INTO lines (number) VALUES (?)");
            let number = i64::try_from(self.done.len()).unwrap_or(i64::MAX);
            let inserted = self.runtime.block_on(insert.bind(number).execute(off));
            inserted.map_err(std::io::Error::other)?;
        }
        self.unsynced.write_all(line.as_bytes())?;
        self.synced.write_all(line.as_bytes())?;
        self.synced.sync_all()?;
        self.done.push(clock.load(Ordering::SeqCst));
        Ok(())
    }

    /// Closes the database, so that its disk can be unmounted.
    pub fn close(&mut self) {
        if let Some(off) = self.off.take() {
            drop(self.runtime.block_on(off.close()));
        }
    }

    /// Compares the files after a cut with the lines that were written before it.
    pub fn loss(&self, dir: &Path, moment: u64) -> ControlLoss {
        let due = self.done.partition_point(|done| *done <= moment);
        let is_lost = |name: &str| {
            let text = std::fs::read(dir.join(name)).unwrap_or_default();
            let whole = text.chunks(LINE).zip(0..).take_while(|(line, n): &(_, usize)| {
                String::from_utf8_lossy(line) == format!("{n:>width$}\n", width = LINE - 1)
            });
            whole.count() < due
        };
        // A database that cannot be read has lost everything.
        let rows = self.runtime.block_on(rows(dir)).unwrap_or_default();
        let off = usize::try_from(rows).unwrap_or_default() < due;
        ControlLoss { synced: is_lost(SYNCED), unsynced: is_lost(UNSYNCED), off, is_due: due > 0 }
    }
}

async fn open(dir: &Path) -> sqlx::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(dir.join(OFF)).create_if_missing(true);
    let options = options.journal_mode(SqliteJournalMode::Wal);
    options.synchronous(SqliteSynchronous::Off).connect().await
}

async fn database(dir: &Path) -> sqlx::Result<SqliteConnection> {
    let mut off = open(dir).await?;
    sqlx::query("CREATE TABLE lines (number INTEGER PRIMARY KEY)").execute(&mut off).await?;
    Ok(off)
}

async fn rows(dir: &Path) -> sqlx::Result<i64> {
    let mut off = open(dir).await?;
    let rows = sqlx::query_scalar("SELECT count(*) FROM lines").fetch_one(&mut off).await?;
    off.close().await?;
    Ok(rows)
}
