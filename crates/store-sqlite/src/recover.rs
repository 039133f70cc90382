//! Recovers a damaged database into a new one.
//!
//! The damaged file is copied aside first and the copy is never changed. All readable rows are copied to a new file;
//! those with a wrong checksum are left out; the index is marked to be rebuilt. The remaining messages keep their
//! numbers, so a recovered session may have gaps in its `seq`.

use std::collections::HashMap;
use std::path::Path;

use sqlx::{Connection, SqliteConnection};

use crate::connect::{checkpoint, connect, known_schema, migrate};
use crate::error::from_sqlx;
use crate::files;
use crate::leaves;
use crate::opened::{Damage, OpenError, RecoveredTable};
use crate::options::Options;
use crate::probe::{FORMER_TABLES, TABLES};
use crate::salvage;
use crate::sql::sql;

const REMAKE_SESSIONS: &str = "
    INSERT INTO sessions (
        id, project_dir, title, title_key, model, created_at, updated_at
    )
    SELECT session, '', 'recovered', 'recovered', '{}', min(created_at), max(created_at)
    FROM (
        SELECT session, created_at FROM messages
        UNION ALL
        SELECT session, created_at FROM decisions
        UNION ALL
        SELECT session, created_at FROM compactions
        UNION ALL
        SELECT session, ?1 FROM records
    )
    WHERE session NOT IN (SELECT id FROM sessions)
      AND length(session) = 16
    GROUP BY session";

/// A number that was assigned is not assigned again, even if its message is lost.
const RECOUNT_SESSIONS: &str = "
    UPDATE sessions
    SET last_seq = max(
        last_seq,
        coalesce((SELECT max(seq) FROM messages WHERE session = sessions.id), 0),
        coalesce((SELECT max(made_after) FROM decisions WHERE session = sessions.id), 0),
        coalesce((SELECT max(made_after) FROM compactions WHERE session = sessions.id), 0)
    )";

/// Numbers without a message. No other message is ever removed without its session.
const LOST_MESSAGES: &str = "
    SELECT coalesce(sum(lost), 0),
           count(*)
    FROM (
        SELECT last_seq - (SELECT count(*) FROM messages WHERE session = sessions.id) AS lost
        FROM sessions
    )
    WHERE lost > 0";

/// A file whose session is incomplete can be imported again.
const FORGET_FILES: &str = "
    UPDATE sessions
    SET content_hash = NULL
    WHERE id IN (
        SELECT lacking.id
        FROM sessions AS lacking
        WHERE last_seq > (SELECT count(*) FROM messages WHERE session = lacking.id)
        UNION ALL
        SELECT lacking.parent
        FROM sessions AS lacking
        WHERE last_seq > (SELECT count(*) FROM messages WHERE session = lacking.id)
    )";

/// The index is not recovered but rebuilt from the messages.
const MARK_SESSIONS: &str = "
    UPDATE sessions
    SET indexed_seq = 0
    RETURNING *";

pub(crate) async fn recover(
    path: &Path,
    options: Options,
    reason: String,
) -> Result<Damage, OpenError> {
    let copy = files::copy_aside(path, options.now)?;
    tracing::warn!(%reason, copy = %copy.display(), "the database is damaged; recovering it");
    let unfinished = files::beside(path, ".recovering");
    files::create(&unfinished)?;
    let mut target = connect(&unfinished, None).await?;
    let recovered = fill(&mut target, path, options).await?;
    let (lost_messages, incomplete_sessions) = sql(LOST_MESSAGES)
        .optional(&mut target, |row| Ok((row.get(0)?, row.get(1)?)))
        .await?
        .unwrap_or_default();
    checkpoint(&mut target).await?;
    target.close().await.map_err(from_sqlx)?;
    files::rename_finished(&unfinished, &files::beside(path, ".recovered"))?;
    files::swap_in_recovered(path)?;
    files::remove_unfinished(path)?;
    let copy = Some(copy);
    Ok(Damage { reason, copy, recovered, lost_messages, incomplete_sessions })
}

/// Copies rows into their original schema, which is then migrated like any older database.
async fn fill(
    target: &mut SqliteConnection,
    path: &Path,
    options: Options,
) -> Result<Vec<RecoveredTable>, OpenError> {
    let file_bytes = files::size(path)?.unwrap_or_default() + files::wal_size(path)?;
    let source = salvage::attach(target, path).await?;
    migrate(target, source.unwrap_or(known_schema())).await?;
    let mut tables = Vec::new();
    for table in TABLES.into_iter().chain(FORMER_TABLES) {
        if salvage::has_table(target, table).await? {
            tables.push(table);
        }
    }
    if source.is_some() {
        let mut complete = true;
        for table in &tables {
            complete &=
                salvage::copy_rows(target, table, file_bytes).await? || *table != "messages";
        }
        salvage::detach(target).await?;
        if !complete {
            leaves::add_stray_messages(target, &files::beside(path, ".salvage")).await?;
        }
    }
    let mut spoiled = HashMap::new();
    for table in tables {
        spoiled.insert(table, salvage::drop_spoiled(target, table).await?);
    }
    migrate(target, known_schema()).await?;
    put_in_order(target, options).await?;
    let mut recovered = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let rows = salvage::count(target, table).await?;
        recovered.push(RecoveredTable { table, rows, spoiled: spoiled.remove(table).unwrap_or(0) });
    }
    let former = spoiled.into_iter().filter(|(_, spoiled)| *spoiled > 0);
    recovered.extend(former.map(|(table, spoiled)| RecoveredTable { table, rows: 0, spoiled }));
    Ok(recovered)
}

async fn put_in_order(target: &mut SqliteConnection, options: Options) -> Result<(), OpenError> {
    sql(REMAKE_SESSIONS).bind(options.now).run(&mut *target).await?;
    sql(RECOUNT_SESSIONS).run(&mut *target).await?;
    sql(FORGET_FILES).run(&mut *target).await?;
    sql(MARK_SESSIONS).seal(target, "sessions").await?;
    Ok(())
}
