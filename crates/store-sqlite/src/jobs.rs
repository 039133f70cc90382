//! Background jobs and their leases.

use bethink_store::{
    JobOutcome, JobRecord, JobState, JobStore, Lease, NewJob, Progress, StoreError, StoreFuture,
    StoreResult,
};
use bethink_transcript::{JobId, UnixMicros};
use sqlx::{Executor, Sqlite, SqliteConnection};

use crate::record::Record;
use crate::sql::{Row, not_found, sql};
use crate::store::SqliteStore;

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

const NEXT: &str = "
    SELECT *
    FROM jobs
    WHERE state < 2
      AND (state = 0 OR lease_until < ?1)
      AND background <= ?2
    ORDER BY background, created_at, number
    LIMIT 1
    OFFSET ?3";

const LEASE: &str = "
    UPDATE jobs
    SET state       = 1,
        owner       = ?1,
        lease_until = ?3,
        attempts    = attempts + 1,
        updated_at  = ?2
    WHERE id = ?4
    RETURNING *";

const HEARTBEAT: &str = "
    UPDATE jobs
    SET lease_until = ?,
        updated_at  = ?
    WHERE id = ?
      AND state = 1
      AND owner = ?
    RETURNING *";

const PROGRESS: &str = "
    UPDATE jobs
    SET done      = ?,
        total     = ?,
        unit      = ?,
        watermark = ?
    WHERE id = ?
    RETURNING *";

const FINISH: &str = "
    UPDATE jobs
    SET state       = ?,
        result      = ?,
        error       = ?,
        lease_until = NULL,
        updated_at  = ?
    WHERE id = ?
      AND state = 1
      AND owner = ?
    RETURNING *";

const HELD: &str = "
    SELECT *
    FROM jobs
    WHERE state = 1
      AND owner = ?";

const RELEASE: &str = "
    UPDATE jobs
    SET state       = 0,
        owner       = NULL,
        lease_until = NULL
    WHERE id = ?
    RETURNING *";

const TABLE: &str = "jobs";

impl JobStore for SqliteStore {
    fn enqueue(&self, new: NewJob) -> StoreFuture<'_, ()> {
        let insert = sql(INSERT)
            .bind(new.id)
            .bind(new.kind)
            .bind(new.session)
            .bind(new.payload)
            .bind(new.background)
            .bind(new.created_at);
        self.write(move |db| {
            Box::pin(async move {
                insert.insert(&mut *db, || format!("job {} already exists", new.id)).await?;
                sql(READ).bind(new.id).seal(db, TABLE).await.map(drop)
            })
        })
    }

    fn job(&self, id: JobId) -> StoreFuture<'_, JobRecord> {
        self.read(async move { read(&*self.readers.get().await, id).await })
    }

    fn jobs(&self, limit: usize) -> StoreFuture<'_, Vec<JobRecord>> {
        self.all(sql(NEWEST).bind(limit), job)
    }

    fn lease(&self, lease: Lease) -> StoreFuture<'_, Option<JobRecord>> {
        Box::pin(async move {
            let (job, fault) = self.write(move |db| Box::pin(take(db, lease))).await?;
            fault.inspect(|fault| self.note_damage(fault));
            Ok(job)
        })
    }

    fn heartbeat(&self, id: JobId, lease: Lease, progress: Progress) -> StoreFuture<'_, ()> {
        let Lease { owner, now, until, .. } = lease;
        let extend = sql(HEARTBEAT).bind(until).bind(now).bind(id).bind(owner.clone());
        self.write(move |db| {
            Box::pin(async move {
                read(&mut *db, id).await?;
                if extend.rows(&mut *db).await?.is_empty() {
                    return Err(not_held(db, id, &owner).await);
                }
                set_progress(db, id, progress).await
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
                read(&mut *db, id).await?;
                match finish.seal(&mut *db, TABLE).await?.is_empty() {
                    true => Err(not_held(db, id, &owner).await),
                    false => Ok(()),
                }
            })
        })
    }

    fn release(&self, owner: String) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let fault = self.write(move |db| Box::pin(release(db, owner))).await?;
            fault.inspect(|fault| self.note_damage(fault));
            Ok(())
        })
    }
}

/// The first damaged row that was skipped. It does not stop the work on other jobs, and must not get a new checksum.
type DamagedRow = Option<String>;

async fn take(
    db: &mut SqliteConnection,
    lease: Lease,
) -> StoreResult<(Option<JobRecord>, DamagedRow)> {
    let Lease { owner, now, until, background } = lease;
    let mut fault = None;
    let mut passed = 0_i64;
    let next = loop {
        let next = sql(NEXT).bind(now).bind(background).bind(passed);
        match next.optional(&mut *db, job).await {
            Err(StoreError::Damaged(why)) => _ = fault.get_or_insert(why),
            next => break next?,
        }
        passed += 1;
    };
    let Some(next) = next else { return Ok((None, fault)) };
    let take = sql(LEASE).bind(owner).bind(now).bind(until).bind(next.id);
    Ok((take.seal(db, TABLE).await?.first().map(job).transpose()?, fault))
}

async fn release(db: &mut SqliteConnection, owner: String) -> StoreResult<DamagedRow> {
    let mut fault = None;
    for row in sql(HELD).bind(owner).rows(&mut *db).await? {
        match row.verify().and_then(|()| job(&row)) {
            Ok(held) => _ = sql(RELEASE).bind(held.id).seal(&mut *db, TABLE).await?,
            Err(StoreError::Damaged(why)) => _ = fault.get_or_insert(why),
            Err(error) => return Err(error),
        }
    }
    Ok(fault)
}

async fn read(db: impl Executor<'_, Database = Sqlite>, id: JobId) -> StoreResult<JobRecord> {
    let found = sql(READ).bind(id).optional(db, job).await?;
    found.ok_or_else(|| not_found("job", id))
}

/// Records an import's progress, in the transaction that stores the imported records.
pub(crate) async fn note_progress(
    db: &mut SqliteConnection,
    id: JobId,
    progress: Progress,
) -> StoreResult<()> {
    read(&mut *db, id).await?;
    set_progress(db, id, progress).await
}

/// Sets the progress of a job whose row was read in the same transaction.
async fn set_progress(db: &mut SqliteConnection, id: JobId, progress: Progress) -> StoreResult<()> {
    let set = sql(PROGRESS).bind_all(progress).bind(id);
    set.seal(db, TABLE).await.map(drop)
}

/// Returns an error that says why this owner does not hold the job.
async fn not_held(db: &mut SqliteConnection, id: JobId, owner: &str) -> StoreError {
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
