//! Appends: facts, plan, one commit for all that waited.

use std::collections::HashMap;

use bethink_store::{Append, Appended, Result, StoreError, StoredReceipt};
use bethink_transcript::{MessageId, Seq, SessionId};
use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use crate::convert::{message_id, seq, session_id};
use crate::error::{copy, from_sqlx, is_of_the_disk};
use crate::hot::Hot;
use crate::options::HOT_IDS;
use crate::plan::{Facts, Plan};
use crate::receipts;
use crate::rows;
use crate::writer::Desk;

pub(crate) type Waiting = (Append, oneshot::Sender<Result<Appended>>);

const LAST_SEQ: &str = "
    SELECT last_seq,
           (SELECT count(*) FROM (SELECT 1 FROM messages WHERE session = ?1 LIMIT ?2))
    FROM sessions
    WHERE id = ?1";

const IDS: &str = "
    SELECT message_id
    FROM messages
    WHERE session = ?";

const STORED: &str = "
    SELECT messages.session, messages.message_id, messages.seq
    FROM json_each(?) AS asked
    JOIN messages
      ON messages.session = unhex(asked.value ->> 0)
     AND messages.message_id = asked.value ->> 1";

const NEWEST: &str = "SELECT coalesce(max(number), 0) FROM messages";

/// Answers every request of the group, after one commit for all of them.
pub(crate) async fn append_group(desk: &mut Desk, group: Vec<Waiting>) {
    let (appends, replies): (Vec<_>, Vec<_>) = group.into_iter().unzip();
    let answers = match append_all(desk, &appends).await {
        Ok(answers) => answers,
        Err(error) => {
            desk.abandon().await;
            one_by_one(desk, &appends, error).await
        }
    };
    for (reply, answer) in replies.into_iter().zip(answers) {
        // A caller that went away has lost only the answer.
        let _ = reply.send(answer);
    }
}

/// The group could not be written. If one request may be to blame, the others must not suffer.
async fn one_by_one(
    desk: &mut Desk,
    appends: &[Append],
    error: StoreError,
) -> Vec<Result<Appended>> {
    if appends.len() < 2 || is_of_the_disk(&error) {
        return appends.iter().map(|_| Err(copy(&error))).collect();
    }
    let mut answers = Vec::with_capacity(appends.len());
    for append in appends {
        match append_all(desk, std::slice::from_ref(append)).await {
            Ok(alone) => answers.extend(alone),
            Err(error) => {
                desk.abandon().await;
                answers.push(Err(error));
            }
        }
    }
    answers
}

async fn append_all(desk: &mut Desk, appends: &[Append]) -> Result<Vec<Result<Appended>>> {
    for append in appends {
        meet(&mut desk.connection, &mut desk.hot, append.session).await?;
    }
    let newest = newest(desk).await?;
    let facts = ask(desk, appends).await?;
    let mut plan = Plan::new(&mut desk.hot, facts, newest);
    let answers = appends.iter().map(|append| plan.append(append)).collect();
    if !plan.is_empty() {
        rows::commit(&plan, &mut desk.connection).await.map_err(from_sqlx)?;
    }
    let newest = plan.newest();
    let kept = plan.receipts.last().map(|row| row.at);
    desk.hot.newest = Some(newest);
    desk.hot.trim();
    receipts::prune(desk, kept).await;
    Ok(answers)
}

/// Reads what an append to the session must know, unless it is known.
pub(crate) async fn meet(
    connection: &mut SqliteConnection,
    hot: &mut Hot,
    session: SessionId,
) -> Result<()> {
    if hot.knows(session) {
        return Ok(());
    }
    let most = i64::try_from(HOT_IDS / 2).unwrap_or(i64::MAX);
    let key = session.0.as_bytes().to_vec();
    let row: Option<(i64, i64)> = sqlx::query_as(LAST_SEQ)
        .bind(key.clone())
        .bind(most)
        .fetch_optional(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    let Some((last_seq, messages)) = row else { return Ok(()) };
    if messages >= most {
        hot.learn(session, seq(last_seq), None::<std::iter::Empty<&str>>);
        return Ok(());
    }
    let ids: Vec<String> =
        sqlx::query_scalar(IDS).bind(key).fetch_all(connection).await.map_err(from_sqlx)?;
    hot.learn(session, seq(last_seq), Some(ids.iter().map(String::as_str)));
    Ok(())
}

pub(crate) async fn newest(desk: &mut Desk) -> Result<i64> {
    match desk.hot.newest {
        Some(newest) => Ok(newest),
        None => sqlx::query_scalar(NEWEST).fetch_one(&mut desk.connection).await.map_err(from_sqlx),
    }
}

/// Which of these messages are stored already, and where.
pub(crate) async fn stored(
    connection: &mut SqliteConnection,
    hot: &Hot,
    messages: Vec<(SessionId, &MessageId)>,
) -> Result<HashMap<(SessionId, MessageId), Seq>> {
    let asked: Vec<_> = messages
        .into_iter()
        .filter(|(session, id)| hot.knows(*session) && hot.may_hold(*session, id))
        .map(|(session, id)| (session.0.simple().to_string(), id))
        .collect();
    if asked.is_empty() {
        return Ok(HashMap::new());
    }
    let asked = serde_json::to_string(&asked).map_err(|e| StoreError::Failed(e.to_string()))?;
    let rows: Vec<(Vec<u8>, String, i64)> =
        sqlx::query_as(STORED).bind(asked).fetch_all(connection).await.map_err(from_sqlx)?;
    rows.into_iter()
        .map(|(session, id, at)| Ok(((session_id(&session)?, message_id(&id)?), seq(at))))
        .collect()
}

async fn ask(desk: &mut Desk, appends: &[Append]) -> Result<Facts> {
    let mut messages = Vec::with_capacity(appends.len());
    for append in appends {
        messages.extend(append.messages.iter().map(|message| (append.session, &message.id)));
    }
    let stored = stored(&mut desk.connection, &desk.hot, messages).await?;
    let keys: Vec<&str> = appends
        .iter()
        .filter_map(|append| append.receipt.as_ref().map(|receipt| receipt.key.as_str()))
        .collect();
    let receipts: HashMap<String, StoredReceipt> = match keys.is_empty() {
        true => HashMap::new(),
        false => receipts::find(&mut desk.connection, &keys).await?,
    };
    Ok(Facts { stored, receipts })
}
