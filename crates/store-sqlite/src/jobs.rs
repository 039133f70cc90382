//! Background work as rows: leased, with owner, heartbeat and watermark.

use bethink_store::{Job, JobOutcome, JobState, Lease, NewJob, Progress, Result, StoreError};
use bethink_transcript::{JobId, UnixMicros};
use sqlx::{Executor, FromRow, Sqlite};

use crate::convert::{integer, job_id, not_found, session_id, unsigned};
use crate::error::{from_sqlx, is_unique_violation};
use crate::writer::Desk;

const INSERT: &str = "
    INSERT INTO jobs (id, kind, session, payload, background, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)";

const READ: &str = "
    SELECT *
    FROM jobs
    WHERE id = ?";

const NEWEST: &str = "
    SELECT *
    FROM jobs
    ORDER BY number DESC
    LIMIT ?";

const LEASE: &str = "
    UPDATE jobs
    SET state       = 1,
        owner       = ?1,
        lease_until = ?3,
        attempts    = attempts + 1,
        updated_at  = ?2
    WHERE number = (
        SELECT number
        FROM jobs
        WHERE state < 2
          AND (state = 0 OR lease_until < ?2)
          AND background <= ?4
        ORDER BY background, created_at, number
        LIMIT 1
    )
    RETURNING *";

const HEARTBEAT: &str = "
    UPDATE jobs
    SET lease_until = ?,
        updated_at  = ?
    WHERE id = ?
      AND state = 1
      AND owner = ?";

const PROGRESS: &str = "
    UPDATE jobs
    SET done      = ?,
        total     = ?,
        unit      = ?,
        watermark = ?
    WHERE id = ?";

const FINISH: &str = "
    UPDATE jobs
    SET state       = ?,
        result      = ?,
        error       = ?,
        lease_until = NULL,
        updated_at  = ?
    WHERE id = ?
      AND state = 1
      AND owner = ?";

const RELEASE: &str = "
    UPDATE jobs
    SET state       = 0,
        owner       = NULL,
        lease_until = NULL
    WHERE state = 1
      AND owner = ?";

#[derive(FromRow)]
struct Row {
    id: Vec<u8>,
    kind: String,
    session: Option<Vec<u8>>,
    payload: String,
    state: i64,
    owner: Option<String>,
    attempts: i64,
    done: i64,
    total: i64,
    unit: String,
    watermark: Option<String>,
    result: Option<String>,
    error: Option<String>,
    created_at: i64,
    updated_at: i64,
}

pub(crate) async fn enqueue(desk: &mut Desk, new: NewJob) -> Result<()> {
    sqlx::query(INSERT)
        .bind(new.id.0.as_bytes().to_vec())
        .bind(new.kind)
        .bind(new.session.map(|session| session.0.as_bytes().to_vec()))
        .bind(new.payload)
        .bind(new.background)
        .bind(new.created_at.0)
        .execute(&mut desk.connection)
        .await
        .map_err(|error| match is_unique_violation(&error) {
            true => StoreError::Conflict(format!("there is a job {} already", new.id)),
            false => from_sqlx(error),
        })?;
    Ok(())
}

pub(crate) async fn read(
    connection: impl Executor<'_, Database = Sqlite>,
    id: JobId,
) -> Result<Job> {
    let row: Option<Row> = sqlx::query_as(READ)
        .bind(id.0.as_bytes().to_vec())
        .fetch_optional(connection)
        .await
        .map_err(from_sqlx)?;
    row.ok_or_else(|| not_found("job", id))?.into_job()
}

pub(crate) async fn newest(
    connection: impl Executor<'_, Database = Sqlite>,
    limit: usize,
) -> Result<Vec<Job>> {
    let rows: Vec<Row> = sqlx::query_as(NEWEST)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await
        .map_err(from_sqlx)?;
    rows.into_iter().map(Row::into_job).collect()
}

pub(crate) async fn lease(desk: &mut Desk, lease: Lease) -> Result<Option<Job>> {
    let row: Option<Row> = sqlx::query_as(LEASE)
        .bind(lease.owner)
        .bind(lease.now.0)
        .bind(lease.until.0)
        .bind(lease.background)
        .fetch_optional(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    row.map(Row::into_job).transpose()
}

pub(crate) async fn heartbeat(
    desk: &mut Desk,
    id: JobId,
    lease: Lease,
    progress: Progress,
) -> Result<()> {
    let owner = lease.owner.clone();
    let statement = sqlx::query(HEARTBEAT)
        .bind(lease.until.0)
        .bind(lease.now.0)
        .bind(id.0.as_bytes().to_vec())
        .bind(lease.owner);
    let held = statement.execute(&mut desk.connection).await.map_err(from_sqlx)?;
    if held.rows_affected() == 0 {
        return Err(not_held(desk, id, &owner).await);
    }
    note_progress(desk, id, progress).await
}

/// An import notes its progress together with what it imported.
pub(crate) async fn note_progress(desk: &mut Desk, id: JobId, progress: Progress) -> Result<()> {
    let noted = sqlx::query(PROGRESS)
        .bind(integer(progress.done))
        .bind(integer(progress.total))
        .bind(progress.unit)
        .bind(progress.watermark)
        .bind(id.0.as_bytes().to_vec())
        .execute(&mut desk.connection)
        .await
        .map_err(from_sqlx)?;
    if noted.rows_affected() == 0 { Err(not_found("job", id)) } else { Ok(()) }
}

pub(crate) async fn finish(
    desk: &mut Desk,
    id: JobId,
    owner: String,
    outcome: JobOutcome,
    at: UnixMicros,
) -> Result<()> {
    let (state, result, error) = match outcome {
        JobOutcome::Done(result) => (2, Some(result), None),
        JobOutcome::Failed(error) => (3, None, Some(error)),
    };
    let statement = sqlx::query(FINISH)
        .bind(state)
        .bind(result)
        .bind(error)
        .bind(at.0)
        .bind(id.0.as_bytes().to_vec())
        .bind(owner.clone());
    let finished = statement.execute(&mut desk.connection).await.map_err(from_sqlx)?;
    if finished.rows_affected() == 0 { Err(not_held(desk, id, &owner).await) } else { Ok(()) }
}

pub(crate) async fn release(desk: &mut Desk, owner: String) -> Result<()> {
    let statement = sqlx::query(RELEASE).bind(owner);
    statement.execute(&mut desk.connection).await.map(drop).map_err(from_sqlx)
}

/// Why a job could not be worked on under this name.
async fn not_held(desk: &mut Desk, id: JobId, owner: &str) -> StoreError {
    match read(&mut desk.connection, id).await {
        Err(error) => error,
        Ok(Job { state: JobState::Running, owner: Some(other), .. }) => {
            StoreError::Conflict(format!("the job {id} is leased to {other}, not to {owner}"))
        }
        Ok(job) => StoreError::Conflict(format!(
            "the job {id} is {:?}, not running under {owner}",
            job.state
        )),
    }
}

impl Row {
    fn into_job(self) -> Result<Job> {
        Ok(Job {
            id: job_id(&self.id)?,
            kind: self.kind,
            session: self.session.as_deref().map(session_id).transpose()?,
            payload: self.payload,
            state: state(self.state)?,
            owner: self.owner,
            attempts: unsigned(self.attempts),
            progress: Progress {
                done: unsigned(self.done),
                total: unsigned(self.total),
                unit: self.unit,
                watermark: self.watermark,
            },
            result: self.result,
            error: self.error,
            created_at: UnixMicros(self.created_at),
            updated_at: UnixMicros(self.updated_at),
        })
    }
}

fn state(column: i64) -> Result<JobState> {
    match column {
        0 => Ok(JobState::Queued),
        1 => Ok(JobState::Running),
        2 => Ok(JobState::Done),
        3 => Ok(JobState::Failed),
        other => Err(StoreError::Damaged(format!("a job has the state {other}"))),
    }
}
