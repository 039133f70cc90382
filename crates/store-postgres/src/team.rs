//! Stores a team's proposals, the bases of its files, and the location of its memory.

use bethink_store::{
    MemorySource, ProposalFilter, StoreFuture, StoreResult, StoredProposal, TeamBase, TeamStore,
};
use bethink_store_format::write_json;
use uuid::Uuid;

use crate::locks::{self, Lock};
use crate::record::Record;
use crate::sql::{Row, sql};
use crate::store::PostgresStore;

const PUT_PROPOSAL: &str = "
    INSERT INTO proposals (
        id, project_dir, name, text, replaces, proposed_by, source_session, source_messages,
        source_strategy, source_time, state, proposed_at, decided_at
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT (id) DO UPDATE
    SET state      = excluded.state,
        decided_at = excluded.decided_at";

const PROPOSAL: &str = "
    SELECT *
    FROM proposals
    WHERE id = $1";

const PROPOSALS: &str = "
    SELECT *
    FROM proposals
    WHERE ($1 IS NULL OR project_dir = $1)
      AND ($2 IS NULL OR name = $2)
      AND ($3 IS NULL OR state = $3)
    ORDER BY id";

const TRIM_PROPOSALS: &str = "
    DELETE FROM proposals
    WHERE id IN (
        SELECT id
        FROM proposals
        WHERE project_dir = $1
          AND state <> 0
        ORDER BY id DESC
        OFFSET $2
        FOR UPDATE SKIP LOCKED
    )";

const BASES: &str = "
    SELECT *
    FROM team_bases
    WHERE project = $1
    ORDER BY file";

const DELETE_BASES: &str = "DELETE FROM team_bases WHERE project = $1";

const ADD_BASE: &str = "
    INSERT INTO team_bases (project, file, blob)
    VALUES ($1, $2, $3)";

const PLACE: &str = "SELECT * FROM team_places WHERE project = $1";

const PUT_PLACE: &str = "
    INSERT INTO team_places (project, dir)
    VALUES ($1, $2)
    ON CONFLICT (home, project) DO UPDATE
    SET dir = excluded.dir";

impl TeamStore for PostgresStore {
    fn put_proposal(&self, proposal: StoredProposal) -> StoreFuture<'_, ()> {
        let source = proposal.source.as_ref();
        let put = sql(PUT_PROPOSAL)
            .bind(proposal.id)
            .bind(proposal.project_dir)
            .bind(proposal.name)
            .bind(proposal.text)
            .bind(proposal.replaces)
            .bind(proposal.by)
            .bind(source.map(|source| source.session.clone()))
            .bind(source.map(|source| write_json(&source.messages)))
            .bind(source.map(|source| source.strategy.clone()))
            .bind(source.map(|source| source.time.clone()))
            .bind(proposal.state)
            .bind(proposal.proposed_at)
            .bind(proposal.decided_at);
        self.run(put)
    }

    fn proposal(&self, id: Uuid) -> StoreFuture<'_, Option<StoredProposal>> {
        self.optional(sql(PROPOSAL).bind(id), proposal)
    }

    fn proposals(&self, filter: ProposalFilter) -> StoreFuture<'_, Vec<StoredProposal>> {
        let ProposalFilter { project_dir, name, state } = filter;
        self.all(sql(PROPOSALS).bind(project_dir).bind(name).bind(state), proposal)
    }

    fn trim_proposals(&self, project_dir: String, keep: usize) -> StoreFuture<'_, ()> {
        self.run(sql(TRIM_PROPOSALS).bind(project_dir).bind(keep))
    }

    fn team_bases(&self, project: String) -> StoreFuture<'_, Vec<TeamBase>> {
        self.all(sql(BASES).bind(project), Record::read)
    }

    fn put_team_bases(&self, project: String, bases: Vec<TeamBase>) -> StoreFuture<'_, ()> {
        self.write(move |db| {
            Box::pin(async move {
                locks::lock(&mut *db, [Lock::TeamBases(&project)]).await?;
                sql(DELETE_BASES).bind(project.clone()).run(&mut *db).await?;
                for base in bases {
                    sql(ADD_BASE).bind(project.clone()).bind_all(base).run(&mut *db).await?;
                }
                Ok(())
            })
        })
    }

    fn team_place(&self, project: String) -> StoreFuture<'_, Option<String>> {
        self.optional(sql(PLACE).bind(project), |row| row.get("dir"))
    }

    fn put_team_place(&self, project: String, dir: String) -> StoreFuture<'_, ()> {
        self.run(sql(PUT_PLACE).bind(project).bind(dir))
    }
}

fn proposal(row: &Row) -> StoreResult<StoredProposal> {
    let source = match row.get("source_session")? {
        None => None,
        Some(session) => Some(MemorySource {
            session,
            messages: row.json("source_messages", "messages of a proposal")?,
            strategy: row.get("source_strategy")?,
            time: row.get("source_time")?,
            ..MemorySource::default()
        }),
    };
    Ok(StoredProposal {
        id: row.get("id")?,
        project_dir: row.get("project_dir")?,
        name: row.get("name")?,
        text: row.get("text")?,
        replaces: row.get("replaces")?,
        by: row.get("proposed_by")?,
        source,
        state: row.get("state")?,
        proposed_at: row.get("proposed_at")?,
        decided_at: row.get("decided_at")?,
    })
}
