//! Background jobs and their leases. A job is leased with a lock that other transactions pass over, so that no job is
//! leased twice and no process waits for another one.

use bethink_store::{
    JobOutcome, JobRecord, JobState, JobStore, Lease, NewJob, Progress, StoreError, StoreFuture,
    StoreResult,
};
use bethink_transcript::{JobId, UnixMicros};
use sqlx::{Executor, PgConnection, Postgres};

use crate::record::Record;
use crate::sql::{Row, not_found, sql};
use crate::store::PostgresStore;

const INSERT: &str = "
    INSERT INTO jobs (id, kind, session, payload, background, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $6)";

const READ: &str = "
    SELECT *
    FROM jobs
    WHERE id = $1";

const NEWEST: &str = "
    SELECT *
    FROM jobs
    ORDER BY number DESC
    LIMIT $1";

const LEASE: &str = "
    UPDATE jobs
    SET state       = 1,
        owner       = $1,
        lease_until = $3,
        attempts    = attempts + 1,
        updated_at  = $2
    WHERE number = (
        SELECT number
        FROM jobs
        WHERE state < 2
          AND (state = 0 OR lease_until < $2)
          AND (NOT background OR $4)
        ORDER BY background, created_at, number
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    )
    RETURNING *";

const HEARTBEAT: &str = "
    UPDATE jobs
    SET lease_until = $1,
        updated_at  = $2,
        done        = $5,
        total       = $6,
        unit        = $7,
        watermark   = $8
    WHERE id = $3
      AND state = 1
      AND owner = $4";

const PROGRESS: &str = "
    UPDATE jobs
    SET done      = $1,
        total     = $2,
        unit      = $3,
        watermark = $4
    WHERE id = $5";

const FINISH: &str = "
    UPDATE jobs
    SET state       = $1,
        result      = $2,
        error       = $3,
        lease_until = NULL,
        updated_at  = $4
    WHERE id = $5
      AND state = 1
      AND owner = $6";

const RELEASE: &str = "
    UPDATE jobs
    SET state       = 0,
        owner       = NULL,
        lease_until = NULL
    WHERE state = 1
      AND owner = $1";

impl JobStore for PostgresStore {
    fn enqueue(&self, new: NewJob) -> StoreFuture<'_, ()> {
        let insert = sql(INSERT)
            .bind(new.id)
            .bind(new.kind)
            .bind(new.session)
            .bind(new.payload)
            .bind(new.background)
            .bind(new.created_at);
        self.write(move |db| {
            Box::pin(
                async move { insert.insert(db, || format!("job {} already exists", new.id)).await },
            )
        })
    }

    fn job(&self, id: JobId) -> StoreFuture<'_, JobRecord> {
        self.read(async move { read(&mut *self.readers.get().await?, id).await })
    }

    fn jobs(&self, limit: usize) -> StoreFuture<'_, Vec<JobRecord>> {
        self.all(sql(NEWEST).bind(limit), job)
    }

    fn lease(&self, lease: Lease) -> StoreFuture<'_, Option<JobRecord>> {
        let Lease { owner, now, until, background } = lease;
        let take = sql(LEASE).bind(owner).bind(now).bind(until).bind(background);
        Box::pin(async move {
            let _in_order = self.leasing.lock().await;
            self.write(move |db| Box::pin(take.optional(db, job))).await
        })
    }

    fn heartbeat(&self, id: JobId, lease: Lease, progress: Progress) -> StoreFuture<'_, ()> {
        let Lease { owner, now, until, .. } = lease;
        let extend = sql(HEARTBEAT).bind(until).bind(now).bind(id).bind(owner.clone());
        let extend = extend.bind_all(progress);
        self.write(move |db| {
            Box::pin(async move {
                match extend.run(&mut *db).await? {
                    0 => Err(not_held(db, id, &owner).await),
                    _ => Ok(()),
                }
            })
        })
    }

    fn finish(
        &self,
        id: JobId,
        owner: String,
        outcome: JobOutcome,
        at: UnixMicros,
    ) -> StoreFuture<'_, ()> {
        let (state, result, error) = match outcome {
            JobOutcome::Done(result) => (JobState::Done, Some(result), None),
            JobOutcome::Failed(error) => (JobState::Failed, None, Some(error)),
        };
        let finish =
            sql(FINISH).bind(state).bind(result).bind(error).bind(at).bind(id).bind(owner.clone());
        self.write(move |db| {
            Box::pin(async move {
                match finish.run(&mut *db).await? {
                    0 => Err(not_held(db, id, &owner).await),
                    _ => Ok(()),
                }
            })
        })
    }

    fn release(&self, owner: String) -> StoreFuture<'_, ()> {
        self.run(sql(RELEASE).bind(owner))
    }
}

async fn read(db: impl Executor<'_, Database = Postgres>, id: JobId) -> StoreResult<JobRecord> {
    let found = sql(READ).bind(id).optional(db, job).await?;
    found.ok_or_else(|| not_found("job", id))
}

/// Records an import's progress, in the transaction that stores the imported records.
pub(crate) async fn note_progress(
    db: &mut PgConnection,
    id: JobId,
    progress: Progress,
) -> StoreResult<()> {
    match sql(PROGRESS).bind_all(progress).bind(id).run(db).await? {
        0 => Err(not_found("job", id)),
        _ => Ok(()),
    }
}

/// Returns an error that says why this owner does not hold the job.
async fn not_held(db: &mut PgConnection, id: JobId, owner: &str) -> StoreError {
    match read(db, id).await {
        Err(error) => error,
        Ok(JobRecord { state: JobState::Running, owner: Some(other), .. }) => {
            StoreError::Conflict(format!("job {id} is leased to {other}, not to {owner}"))
        }
        Ok(job) => StoreError::Conflict(format!(
            "job {id} is not leased to {owner}; its state is {:?}",
            job.state
        )),
    }
}

fn job(row: &Row) -> StoreResult<JobRecord> {
    Ok(JobRecord {
        id: row.get("id")?,
        kind: row.get("kind")?,
        session: row.get("session")?,
        payload: row.get("payload")?,
        state: row.get("state")?,
        owner: row.get("owner")?,
        attempts: row.get("attempts")?,
        progress: Progress::read(row)?,
        result: row.get("result")?,
        error: row.get("error")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
