//! Many rows in one statement: a statement is a hop to the connection's thread, dearer than a row.

use std::fmt::Write;
use std::sync::LazyLock;

use bethink_transcript::SessionId;
use serde_json::json;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Sqlite, SqliteConnection};

use crate::convert::{role_column, seq_column};
use crate::plan::{Plan, ReceiptRow, Row, Touched};

pub(crate) type Statement = Query<'static, Sqlite, SqliteArguments>;

/// Rows in a statement. Few sizes, so that each stays prepared; the rest is filled up with NULLs,
/// which the statement leaves out.
const SIZES: [usize; 7] = [1, 2, 4, 8, 16, 32, MOST];
pub(crate) const MOST: usize = 64;

const MESSAGE_COLUMNS: &str =
    "messages (number, session, seq, message_id, role, recorded, created_at, checksum, raw)";

const TOUCH_SESSION: &str = "
    UPDATE sessions
    SET last_seq = ?,
        updated_at = max(updated_at, ?)
    WHERE id = ?;";

const TOUCH_SESSIONS: &str = "
    UPDATE sessions
    SET last_seq = touched.value ->> 1,
        updated_at = max(updated_at, touched.value ->> 2)
    FROM json_each(?) AS touched
    WHERE sessions.id = unhex(touched.value ->> 0);";

const KEEP_RECEIPTS: &str = "
    INSERT INTO receipts (key, fingerprint, answer, created_at)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3
    FROM json_each(?);";

/// The whole transaction of a group of appends in one statement text, by size, without and with
/// receipts.
static APPENDS: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
    SIZES.map(|size| [false, true].map(|receipts| transaction(size, receipts))).into()
});
static MESSAGES: LazyLock<Vec<String>> =
    LazyLock::new(|| SIZES.map(|size| insert_rows(MESSAGE_COLUMNS, 9, size)).into());

/// Writes a plan in a transaction of its own: one hop if it is small, a few if it is not.
pub(crate) async fn commit(plan: &Plan<'_>, connection: &mut SqliteConnection) -> sqlx::Result<()> {
    if !plan.rows.is_empty() && plan.rows.len() <= MOST {
        let (at, size) = size_for(plan.rows.len());
        let text = &APPENDS[at][usize::from(!plan.receipts.is_empty())];
        let mut statement = bind_messages(sqlx::query(text.as_str()), &plan.rows, size);
        statement = bind_touched(statement, size, &plan.touched);
        if !plan.receipts.is_empty() {
            statement = statement.bind(receipts_json(&plan.receipts));
        }
        return statement.execute(connection).await.map(drop);
    }
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    insert(plan, &mut *connection).await?;
    sqlx::query("COMMIT").execute(connection).await.map(drop)
}

/// Writes a plan as a part of a transaction.
pub(crate) async fn insert(plan: &Plan<'_>, connection: &mut SqliteConnection) -> sqlx::Result<()> {
    insert_messages(&plan.rows, &mut *connection).await?;
    if !plan.touched.is_empty() {
        let touched = touched_json(&plan.touched);
        sqlx::query(TOUCH_SESSIONS).bind(touched).execute(&mut *connection).await?;
    }
    if !plan.receipts.is_empty() {
        let receipts = receipts_json(&plan.receipts);
        sqlx::query(KEEP_RECEIPTS).bind(receipts).execute(connection).await?;
    }
    Ok(())
}

async fn insert_messages(rows: &[Row<'_>], connection: &mut SqliteConnection) -> sqlx::Result<()> {
    for rows in rows.chunks(MOST) {
        let (at, size) = size_for(rows.len());
        let statement = sqlx::query(MESSAGES[at].as_str());
        bind_messages(statement, rows, size).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Of what makes a message itself; 63 bits are plenty against decay.
pub(crate) fn checksum(session: SessionId, place: u64, id: &str, parts: &[&[u8]]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.0.as_bytes());
    hasher.update(&place.to_le_bytes());
    hasher.update(id.as_bytes());
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    i64::from_le_bytes(first)
}

/// `INSERT INTO target` of `size` rows of `width` columns; rows whose first column is NULL are left
/// out.
pub(crate) fn insert_rows(target: &str, width: usize, size: usize) -> String {
    let row = format!("({})", vec!["?"; width].join(", "));
    let rows = vec![row; size].join(",\n           ");
    if size == 1 {
        return format!("INSERT INTO {target}\nVALUES {rows};\n");
    }
    format!("INSERT INTO {target}\nSELECT *\nFROM (VALUES {rows})\nWHERE column1 IS NOT NULL;\n")
}

/// Index and number of rows of the smallest size that holds `rows`.
pub(crate) fn size_for(rows: usize) -> (usize, usize) {
    let at = SIZES.iter().position(|size| *size >= rows).unwrap_or(SIZES.len() - 1);
    (at, SIZES[at])
}

pub(crate) fn sizes() -> [usize; 7] {
    SIZES
}

fn transaction(size: usize, receipts: bool) -> String {
    let mut text = String::from("BEGIN IMMEDIATE;\n");
    let touch = if size == 1 { TOUCH_SESSION } else { TOUCH_SESSIONS };
    let keep = if receipts { KEEP_RECEIPTS } else { "" };
    let messages = insert_rows(MESSAGE_COLUMNS, 9, size);
    let _ = write!(text, "{messages}{touch}\n{keep}\nCOMMIT;");
    text
}

fn bind_messages(mut statement: Statement, rows: &[Row<'_>], size: usize) -> Statement {
    for row in rows {
        statement = bind_message(statement, row);
    }
    bind_nulls(statement, (size - rows.len()) * 9)
}

fn bind_message(statement: Statement, row: &Row<'_>) -> Statement {
    let message = &row.message;
    let id = message.id.as_str();
    statement
        .bind(row.number)
        .bind(row.session.0.as_bytes().to_vec())
        .bind(seq_column(row.seq))
        .bind(id.to_owned())
        .bind(role_column(message.role))
        .bind(message.recorded)
        .bind(message.created_at.0)
        .bind(checksum(row.session, row.seq.0, id, &[message.raw]))
        .bind(message.raw.to_vec())
}

pub(crate) fn bind_nulls(mut statement: Statement, count: usize) -> Statement {
    for _ in 0..count {
        statement = statement.bind(None::<i64>);
    }
    statement
}

fn bind_touched(statement: Statement, size: usize, touched: &[Touched]) -> Statement {
    match touched {
        [touched] if size == 1 => statement
            .bind(seq_column(touched.last_seq))
            .bind(touched.at.0)
            .bind(touched.session.0.as_bytes().to_vec()),
        many => statement.bind(touched_json(many)),
    }
}

fn touched_json(touched: &[Touched]) -> String {
    let rows = touched.iter().map(|touched| {
        json!([touched.session.0.simple().to_string(), touched.last_seq.0, touched.at.0])
    });
    serde_json::Value::Array(rows.collect()).to_string()
}

fn receipts_json(receipts: &[ReceiptRow]) -> String {
    let rows = receipts
        .iter()
        .map(|row| json!([row.key, row.stored.fingerprint, row.stored.answer, row.at.0]));
    serde_json::Value::Array(rows.collect()).to_string()
}
