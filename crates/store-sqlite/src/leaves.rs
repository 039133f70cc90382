//! Recovers messages from pages that are no longer reachable.
//!
//! If an inner page of the table is damaged, SQLite cannot reach the intact leaves below it. This module reads every page
//! separately (https://www.sqlite.org/fileformat.html#b_tree_pages), and accepts everything that parses as a message and
//! has the right checksum. Only messages of recovered sessions are used, because free pages may still contain those of a
//! deleted session.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bethink_store::StoreError;
use bethink_store_format::is_whole;
use bethink_transcript::SessionId;
use bytes::Buf;
use sqlx::SqliteConnection;

use crate::opened::OpenError;
use crate::options::PAGE_BYTES;
use crate::sql::{Column, sql, unsigned};

const TABLE_LEAF: u8 = 13;
const COLUMNS: usize = 9;

const SESSIONS: &str = "SELECT id FROM sessions";

const INSERT: &str = "
    INSERT OR IGNORE INTO messages (
        number, session, seq, message_id, role, recorded, created_at, checksum, raw
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

struct SalvagedMessage {
    number: i64,
    session: SessionId,
    /// seq, role, recorded, created_at, checksum.
    integers: [i64; 5],
    id: String,
    raw: Vec<u8>,
}

pub(crate) async fn add_stray_messages(
    target: &mut SqliteConnection,
    path: &Path,
) -> Result<(), OpenError> {
    let file = File::open(path)?;
    let ids = sql(SESSIONS).all(&mut *target, |row| Ok(row.get(0).ok())).await?;
    let sessions: HashSet<SessionId> = ids.into_iter().flatten().collect();
    let pages = file.metadata()?.len() / PAGE_BYTES as u64;
    sql("BEGIN IMMEDIATE").run(&mut *target).await?;
    for page in 1..pages {
        for message in messages_on(&file, page) {
            if sessions.contains(&message.session) {
                insert(target, message).await?;
            }
        }
    }
    sql("COMMIT").run(target).await?;
    Ok(())
}

async fn insert(
    target: &mut SqliteConnection,
    message: SalvagedMessage,
) -> Result<u64, StoreError> {
    let [seq, role, recorded, created_at, checksum] = message.integers;
    sql(INSERT)
        .bind(message.number)
        .bind(message.session)
        .bind(seq)
        .bind(message.id)
        .bind(role)
        .bind(recorded)
        .bind(created_at)
        .bind(checksum)
        .bind(message.raw)
        .run(target)
        .await
}

/// Reads the messages whose cells begin on this page. Pages are numbered from 0.
fn messages_on(file: &File, page: u64) -> Vec<SalvagedMessage> {
    let Some(bytes) = read_page(file, page) else { return Vec::new() };
    if bytes[0] != TABLE_LEAF {
        return Vec::new();
    }
    let cells = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
    (0..cells)
        .filter_map(|cell| bytes.get(8 + cell * 2..10 + cell * 2))
        .filter_map(|at| bytes.get(usize::from(u16::from_be_bytes([at[0], at[1]]))..))
        .filter_map(|cell| read_cell(file, cell))
        .collect()
}

fn read_page(file: &File, page: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PAGE_BYTES];
    file.read_exact_at(&mut bytes, page.checked_mul(PAGE_BYTES as u64)?).ok()?;
    Some(bytes)
}

fn read_cell(file: &File, mut cell: &[u8]) -> Option<SalvagedMessage> {
    let length = usize::try_from(varint(&mut cell)?).ok()?;
    // This bounds a damaged length, and a chain that forms a cycle.
    if length as u64 > file.metadata().ok()?.len() {
        return None;
    }
    let number = varint(&mut cell)?;
    read_message(number, &read_payload(file, cell, length)?)
}

/// Reads a payload, which continues in a chain of other pages if it does not fit on its page.
fn read_payload(file: &File, cell: &[u8], length: usize) -> Option<Vec<u8>> {
    const MOST: usize = PAGE_BYTES - 35;
    const LEAST: usize = (PAGE_BYTES - 12) * 32 / 255 - 23;
    if length <= MOST {
        return cell.get(..length).map(<[u8]>::to_vec);
    }
    let fitting = LEAST + (length - LEAST) % (PAGE_BYTES - 4);
    let local = if fitting <= MOST { fitting } else { LEAST };
    let mut payload = cell.get(..local)?.to_vec();
    let mut next = page_number(cell.get(local..)?)?;
    while payload.len() < length {
        let page = read_page(file, u64::from(next.checked_sub(1)?))?;
        next = page_number(&page)?;
        payload.extend_from_slice(&page[4..]);
    }
    payload.truncate(length);
    Some(payload)
}

fn page_number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}

/// Reads a record: the types of its columns, followed by the columns without the key.
fn read_message(number: i64, payload: &[u8]) -> Option<SalvagedMessage> {
    let mut rest = payload;
    let types_length = usize::try_from(varint(&mut rest)?).ok()?;
    let mut types = payload.get(payload.len() - rest.len()..types_length)?;
    let mut columns = payload.get(types_length..)?;
    let mut values = Vec::with_capacity(COLUMNS);
    while !types.is_empty() {
        let kind = varint(&mut types)?;
        let (value, after) = columns.split_at_checked(width(kind)?)?;
        values.push((kind, value));
        columns = after;
    }
    let [key, session, seq, id, role, recorded, created_at, sum, raw] = values[..] else {
        return None;
    };
    let integers =
        [integer(seq)?, integer(role)?, integer(recorded)?, integer(created_at)?, integer(sum)?];
    let session = SessionId::read(session.1.to_vec()).ok()?;
    let (id, raw) = (String::from_utf8(id.1.to_vec()).ok()?, raw.1.to_vec());
    let [seq, role, recorded, created_at, stored] = integers;
    let numbers = [role, recorded, created_at];
    let is_message = key.0 == 0
        && (0..=1).contains(&role)
        && is_whole(stored, (session, unsigned(seq), &id), numbers, &raw);
    is_message.then_some(SalvagedMessage { number, session, integers, id, raw })
}

/// Returns the size of a column of this type, in bytes.
fn width(kind: i64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(kind).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        12.. => usize::try_from((kind - 12) / 2).ok(),
        _ => None,
    }
}

fn integer((kind, bytes): (i64, &[u8])) -> Option<i64> {
    match kind {
        8 => Some(0),
        9 => Some(1),
        1..=6 => Some(Buf::get_int(&mut &*bytes, bytes.len())),
        _ => None,
    }
}

/// Reads a variable-length integer: seven bits per byte, the highest bits first; a ninth byte has eight bits.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some(((value << 8) | u64::from(byte)).cast_signed());
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value.cast_signed())
}
