//! Tests of history that people share: who sees and changes which row, checked from SQL, and what is copied.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    unreachable_pub,
    reason = "a test stops where it fails"
)]

mod server;

use bethink_postgres_server::execute;
use bethink_store::{
    Append, CopiedBatch, CopiedExtent, CopiedMessage, Family, HealthStore, IndexBatch, IndexLookup,
    IndexStore, NewMessage, NewSession, PageRequest, Posting, SearchScope, SeqRange, SessionStore,
    SharedProject, StoreError, TeamHistoryStore, TeamRole, TeamScope, TeamTables, TermPlaces,
    Terms,
};
use bethink_store_postgres::{PostgresAddress, PostgresOptions, PostgresStore};
use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use sqlx::{ConnectOptions, Executor, PgConnection};
use tokio::sync::OnceCell;
use uuid::Uuid;

const TABLES: &str = include_str!("../../../migrations/team/history.sql");
const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);
const DIR: &str = "/mill";
const PROJECT: &str = "github.com/acme/mill";

/// A database of a team, with a schema for each person.
struct Team {
    server: &'static server::StoreServer,
    database: String,
}

impl Team {
    async fn new() -> Self {
        static PEOPLE: OnceCell<()> = OnceCell::const_new();
        let server = server::server().await;
        PEOPLE
            .get_or_init(|| {
                server.admin("CREATE ROLE ann LOGIN; CREATE ROLE ben LOGIN; CREATE ROLE cid LOGIN; CREATE ROLE bethink_team NOLOGIN")
            })
            .await;
        let database = server.bare_database().await;
        let team = Self { server, database };
        let mut db = team.admin().await;
        for statement in [
            "CREATE SCHEMA AUTHORIZATION ann",
            "CREATE SCHEMA AUTHORIZATION ben",
            "CREATE SCHEMA AUTHORIZATION cid",
        ] {
            execute(&mut db, statement).await;
        }
        team
    }

    async fn with_tables() -> Self {
        let team = Self::new().await;
        // Twice, because an administrator may run it again.
        for _ in 0..2 {
            execute(&mut team.admin().await, TABLES).await;
        }
        team
    }

    async fn admin(&self) -> PgConnection {
        self.server.connect(&self.database).await
    }

    /// Connects as this person, to do what a client of the database could do.
    async fn sql(&self, person: &str) -> PgConnection {
        self.server.address(&self.database).username(person).connect().await.unwrap()
    }

    async fn open(&self, person: &str) -> PostgresStore {
        let address = self.server.address(&self.database).username(person);
        let options = PostgresOptions::new(PostgresAddress::from(address));
        PostgresStore::open(&options).await.unwrap().0
    }
}

async fn share(store: &PostgresStore, since: UnixMicros) -> Result<(), StoreError> {
    let (project_dir, project) = (DIR.to_owned(), PROJECT.to_owned());
    store.share_project(SharedProject { project_dir, project, since }).await
}

async fn session(store: &PostgresStore, messages: u64, at: UnixMicros) -> SessionId {
    let id = SessionId(Uuid::new_v4());
    let new = NewSession::new(id, DIR.to_owned(), "{}".to_owned(), at);
    store.create_session(new, None).await.unwrap();
    say(store, id, messages).await;
    id
}

async fn say(store: &PostgresStore, session: SessionId, messages: u64) {
    let message = |_| NewMessage {
        id: MessageId::new(&Uuid::new_v4().to_string()).unwrap(),
        role: Role::User,
        raw: "{}".into(),
        recorded: false,
        created_at: NOW,
    };
    let messages = (0..messages).map(message).collect();
    store
        .append(Append { session, messages, only_new: false, receipt: None, at: NOW })
        .await
        .unwrap();
}

fn terms(seq: Seq) -> Terms {
    let word = if seq.0.is_multiple_of(2) { "even evening" } else { "odd" };
    Terms { user: format!("mill {word} wheel{}", seq.0), ..Terms::default() }
}

fn batch(session: SessionId, extent: CopiedExtent) -> CopiedBatch {
    let seqs = || (extent.copied.0 + 1..=extent.last.0).map(Seq);
    let messages = seqs().map(|seq| CopiedMessage {
        seq,
        id: MessageId::new(&format!("{session}-{seq}")).unwrap(),
        role: Role::User,
        created_at: NOW,
        raw: format!("message {seq}").into(),
        is_redacted: seq.0 == 1,
    });
    let entries = seqs().map(|seq| (seq, terms(seq))).collect();
    CopiedBatch {
        project: extent.project,
        title: extent.title,
        created_at: extent.created_at,
        after: extent.copied,
        messages: messages.collect(),
        index: IndexBatch { session, entries, through: extent.last },
    }
}

async fn copy(store: &PostgresStore, session: SessionId) -> Result<bool, StoreError> {
    let extent = store.copied(session).await?.expect("it is shared");
    store.copy_to_team(batch(session, extent)).await
}

fn page() -> PageRequest {
    PageRequest { limit: 100, cursor: None }
}

async fn listed(store: &PostgresStore) -> Vec<SessionId> {
    let (sessions, _) = store.team_sessions(TeamScope::default(), page()).await.unwrap();
    sessions.into_iter().map(|session| session.id).collect()
}

fn lookup(terms: &[&str]) -> IndexLookup {
    IndexLookup {
        scope: SearchScope::All,
        terms: terms.iter().map(|term| (*term).to_owned()).collect(),
        families: vec![Family { start: "even".into(), except: "even".into(), lengths: 4..=8 }],
        marks: Vec::new(),
        most: 1_000,
    }
}

/// The sessions, and the places of each list, in an order that does not depend on that of the sessions.
fn places(found: &TermPlaces) -> (Vec<String>, Vec<Vec<String>>) {
    let mut sessions: Vec<_> =
        found.sessions.iter().map(|session| format!("{session:?}")).collect();
    sessions.sort_unstable();
    let list = |list: &Option<Vec<Posting>>| {
        let place = |posting: &Posting| {
            let Posting { session, seq, counts, length } = posting;
            format!("{:?} {seq} {counts:?} {length}", found.sessions[*session as usize].session)
        };
        let mut list: Vec<_> = list.as_ref().expect("not too long").iter().map(place).collect();
        list.sort_unstable();
        list
    };
    (sessions, found.lists.iter().chain(&found.families).map(list).collect())
}

/// Number of rows of each table that a connection sees.
async fn rows(db: &mut PgConnection) -> [i64; 5] {
    const COUNT: &str = "
        SELECT ARRAY[
            (SELECT count(*) FROM bethink_team.projects),
            (SELECT count(*) FROM bethink_team.members),
            (SELECT count(*) FROM bethink_team.sessions),
            (SELECT count(*) FROM bethink_team.messages),
            (SELECT count(*) FROM bethink_team.postings)
        ]";
    let counts: Vec<i64> = sqlx::query_scalar(COUNT).fetch_one(db).await.unwrap();
    counts.try_into().unwrap()
}

/// Returns the number of changed rows, or the error's code.
async fn attempt(db: &mut PgConnection, statement: &'static str) -> Result<u64, String> {
    let code = |error: sqlx::Error| error.as_database_error().unwrap().code().unwrap().into_owned();
    db.execute(statement).await.map(|done| done.rows_affected()).map_err(code)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_members_see_a_row() {
    let team = Team::with_tables().await;
    let (ann, ben, cid) = (team.open("ann").await, team.open("ben").await, team.open("cid").await);
    share(&ann, UnixMicros(0)).await.unwrap();
    let shared = session(&ann, 3, NOW).await;
    assert!(copy(&ann, shared).await.unwrap());
    ann.set_team_role(PROJECT.into(), "ben".into(), Some(TeamRole::Reader)).await.unwrap();

    // Without a transaction: the connection sees what is there now.
    let (mut as_ann, mut as_ben, mut as_cid) =
        (team.sql("ann").await, team.sql("ben").await, team.sql("cid").await);
    let all = rows(&mut as_ann).await;
    assert!(all.iter().all(|count| *count > 0), "{all:?}");
    assert_eq!(rows(&mut as_ben).await, all);
    assert_eq!(rows(&mut as_cid).await, [0; 5]);
    // The original is in the person's own schema.
    assert_eq!(attempt(&mut as_ben, "SELECT FROM ann.messages").await, Err("42501".into()));

    let sees = async |store: &PostgresStore| {
        let found = store.team_lookup(TeamScope::default(), lookup(&["mill"])).await.unwrap();
        (
            store.team_projects().await.unwrap().len(),
            listed(store).await.len(),
            store.team_sessions_at(vec![shared]).await.unwrap().len(),
            store.team_messages(shared, SeqRange::all()).await.map(|all| all.len()).ok(),
            store.team_messages_at(vec![(shared, Seq(2))]).await.unwrap().len(),
            found.sessions.len(),
            found.lists[0].as_ref().unwrap().len(),
        )
    };
    assert_eq!(sees(&ben).await, (1, 1, 1, Some(3), 1, 1, 3));
    assert_eq!(sees(&cid).await, (0, 0, 0, None, 0, 0, 0));

    ann.set_team_role(PROJECT.into(), "ben".into(), None).await.unwrap();
    assert_eq!(rows(&mut as_ben).await, [0; 5]);
    assert_eq!(sees(&ben).await, (0, 0, 0, None, 0, 0, 0));
    assert_eq!(sees(&ann).await, (1, 1, 1, Some(3), 1, 1, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_changes_rows_of_others() {
    let team = Team::with_tables().await;
    let (ann, ben) = (team.open("ann").await, team.open("ben").await);
    share(&ann, UnixMicros(0)).await.unwrap();
    let shared = session(&ann, 3, NOW).await;
    assert!(copy(&ann, shared).await.unwrap());
    let denied = || Err("42501".to_owned());
    let hers = "
        INSERT INTO bethink_team.sessions (id, project, person, created_at, updated_at, last_seq, messages, terms, redacted)
        SELECT gen_random_uuid(), 1, 'ann', 1, 1, 1, 1, 1, 1";
    let own = "
        INSERT INTO bethink_team.sessions (id, project, created_at, updated_at, last_seq, messages, terms, redacted)
        VALUES (gen_random_uuid(), 1, 1, 1, 1, 1, 1, 1)";
    let member = "INSERT INTO bethink_team.members VALUES (1, 'cid', 'reader')";
    let own_role = "UPDATE bethink_team.members SET role = 'admin'";

    // A stranger, a reader, and a contributor.
    for role in [None, Some(TeamRole::Reader), Some(TeamRole::Contributor)] {
        if let Some(role) = role {
            ann.set_team_role(PROJECT.into(), "ben".into(), Some(role)).await.unwrap();
        }
        let mut db = team.sql("ben").await;
        let may_share = role == Some(TeamRole::Contributor);
        assert_eq!(attempt(&mut db, own).await, if may_share { Ok(1) } else { denied() });
        assert_eq!(attempt(&mut db, hers).await, denied(), "{role:?}");
        assert_eq!(attempt(&mut db, member).await, denied(), "{role:?}");
        for statement in [
            "UPDATE bethink_team.sessions SET title = 'x' WHERE person = 'ann'",
            "UPDATE bethink_team.postings SET places = '' WHERE person = 'ann'",
        ] {
            assert_eq!(attempt(&mut db, statement).await, Ok(0), "{role:?}: {statement}");
        }
        for statement in [
            own_role,
            "DELETE FROM bethink_team.members",
            "DELETE FROM bethink_team.sessions",
            "UPDATE bethink_team.sessions SET is_removed = FALSE",
            "DO $$ BEGIN LOCK TABLE bethink_team.sessions IN ACCESS EXCLUSIVE MODE; END $$",
            "DO $$ BEGIN LOCK TABLE bethink_team.members IN SHARE MODE; END $$",
            "DO $$ BEGIN LOCK TABLE bethink_team.postings IN EXCLUSIVE MODE; END $$",
            "DELETE FROM bethink_team.messages",
            "UPDATE bethink_team.messages SET raw = ''",
            "UPDATE bethink_team.projects SET name = 'x'",
            "INSERT INTO bethink_team.projects (name) VALUES ('x')",
            "UPDATE bethink_team.version SET version = 9",
            "CREATE TABLE bethink_team.mine ()",
            "SET ROLE bethink_team",
        ] {
            assert_eq!(attempt(&mut db, statement).await, denied(), "{role:?}: {statement}");
        }
        // A message or a place in her session.
        let into_hers = "
            INSERT INTO bethink_team.messages (session, seq, project, message_id, role, created_at, raw)
            SELECT id, 9, project, 'x', 0, 0, '' FROM bethink_team.sessions WHERE person = 'ann'";
        let code = attempt(&mut db, into_hers).await;
        assert!(
            code == Err("23503".into()) || (role.is_none() && code == Ok(0)) || code == denied(),
            "{code:?}"
        );
        let refused = |error: StoreError| {
            matches!(error, StoreError::Conflict(_) | StoreError::NotFound { .. })
        };
        assert!(refused(ben.remove_team_session(shared).await.unwrap_err()));
        let role = ben.set_team_role(PROJECT.into(), "cid".into(), Some(TeamRole::Reader)).await;
        assert!(refused(role.unwrap_err()));
        let withdrawn = "SELECT bethink_team.withdraw(ARRAY(SELECT id FROM bethink_team.sessions WHERE person = 'ann'))";
        attempt(&mut db, withdrawn).await.unwrap();
        assert!(listed(&ann).await.contains(&shared));
    }
    // An admin cannot leave a project without one, and names only logins.
    let error = async |person: &str, role| {
        ann.set_team_role(PROJECT.into(), person.into(), role).await.unwrap_err().to_string()
    };
    assert!(error("ann", Some(TeamRole::Reader)).await.contains("cannot change your own role"));
    assert!(error("ann", None).await.contains("cannot change your own role"));
    assert!(error("zoe", Some(TeamRole::Reader)).await.contains("has no login zoe"));
    assert_eq!(error("cid", None).await, "cid is not a member of github.com/acme/mill");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_copied_follows_what_is_shared() {
    let team = Team::with_tables().await;
    let ann = team.open("ann").await;
    let early = session(&ann, 2, UnixMicros(NOW.0 - 1)).await;
    assert_eq!(ann.copied(early).await.unwrap(), None);
    share(&ann, NOW).await.unwrap();
    let late = session(&ann, 2, NOW).await;
    assert_eq!(ann.uncopied(None, 10).await.unwrap(), [late]);
    assert_eq!(ann.shared_sessions(vec![early, late]).await.unwrap(), [(late, PROJECT.to_owned())]);

    // Each message is copied once, whoever copies it.
    let before = ann.copied(late).await.unwrap().unwrap();
    assert!(copy(&ann, late).await.unwrap());
    assert!(!ann.copy_to_team(batch(late, before)).await.unwrap(), "copied before");
    say(&ann, late, 2).await;
    assert!(copy(&ann, late).await.unwrap());
    let seqs = async |id| {
        let messages = ann.team_messages(id, SeqRange::all()).await.unwrap();
        messages.iter().map(|message| message.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(seqs(late).await, [1, 2, 3, 4]);
    let newest = SeqRange { before: Some(Seq(4)), limit: 2, newest: true, ..SeqRange::all() };
    let newest = ann.team_messages(late, newest).await.unwrap();
    assert_eq!(newest.iter().map(|message| message.seq.0).collect::<Vec<_>>(), [2, 3]);
    let few = SeqRange { bytes: 12, ..SeqRange::all() };
    assert_eq!(ann.team_messages(late, few).await.unwrap().len(), 1);
    let copied = ann.team_sessions_at(vec![late]).await.unwrap().pop().unwrap();
    assert_eq!((copied.messages, copied.redacted, copied.person.as_str()), (4, 1, "ann"));
    assert!(ann.uncopied(None, 10).await.unwrap().is_empty());

    // The person's choice for a session.
    ann.share_session(early, true).await.unwrap();
    assert!(copy(&ann, early).await.unwrap());
    let extent = CopiedExtent { copied: Seq(0), ..ann.copied(late).await.unwrap().unwrap() };
    ann.share_session(late, false).await.unwrap();
    assert_eq!(listed(&ann).await, [early]);
    assert!(!ann.copy_to_team(batch(late, extent)).await.unwrap(), "not shared any more");
    ann.share_session(late, true).await.unwrap();
    assert!(copy(&ann, late).await.unwrap());
    assert_eq!(seqs(late).await, [1, 2, 3, 4], "again from the beginning");

    // A deleted session has no copy.
    ann.delete_session(early).await.unwrap();
    assert_eq!(listed(&ann).await, [late]);

    // Removing an own copy is a choice, which the person can change.
    ann.remove_team_session(late).await.unwrap();
    assert!(listed(&ann).await.is_empty() && ann.copied(late).await.unwrap().is_none());
    ann.share_session(late, true).await.unwrap();
    assert!(ann.copied(late).await.unwrap().is_some());
    ann.share_session(late, false).await.unwrap();

    // Another project of the team, and none.
    let other =
        SharedProject { project_dir: DIR.into(), project: "sail".into(), since: UnixMicros(0) };
    let third = session(&ann, 1, NOW).await;
    assert!(copy(&ann, third).await.unwrap());
    ann.share_project(other).await.unwrap();
    assert!(listed(&ann).await.is_empty());
    assert!(copy(&ann, third).await.unwrap());
    let sail = TeamScope { project: Some("sail".into()), person: Some("ann".into()) };
    assert_eq!(ann.team_sessions(sail, page()).await.unwrap().0.len(), 1);
    let nobody = TeamScope { project: None, person: Some("ben".into()) };
    assert_eq!(ann.team_sessions(nobody, page()).await.unwrap().0.len(), 0);
    // The choice not to share a session stays.
    ann.share_session(third, false).await.unwrap();
    assert_eq!(ann.unshare_project(DIR.into()).await.unwrap(), 0);
    share(&ann, UnixMicros(0)).await.unwrap();
    assert_eq!(ann.copied(third).await.unwrap(), None);
    ann.share_session(third, true).await.unwrap();
    assert!(copy(&ann, third).await.unwrap());
    // With other tables, nothing can be removed, and nothing is forgotten.
    let mut admin = team.admin().await;
    execute(&mut admin, "UPDATE bethink_team.version SET version = 2").await;
    assert!(matches!(ann.unshare_project(DIR.into()).await, Err(StoreError::Conflict(_))));
    execute(&mut admin, "UPDATE bethink_team.version SET version = 1").await;
    assert_eq!(ann.unshare_project(DIR.into()).await.unwrap(), 1);
    assert!(listed(&ann).await.is_empty() && ann.shared_projects().await.unwrap().is_empty());
    assert!(matches!(ann.unshare_project(DIR.into()).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(ann.share_session(third, true).await, Err(StoreError::Conflict(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_and_children_are_shared_as_their_parents_are() {
    let team = Team::with_tables().await;
    let ann = team.open("ann").await;
    let (early, late) =
        (session(&ann, 1, UnixMicros(NOW.0 - 1)).await, session(&ann, 1, NOW).await);
    share(&ann, NOW).await.unwrap();
    let child = async |parent: SessionId| {
        let id = SessionId(Uuid::new_v4());
        let later = UnixMicros(NOW.0 + 1);
        let new = NewSession::new(id, DIR.to_owned(), "{}".to_owned(), later);
        ann.create_session(NewSession { parent: Some(parent), ..new }, None).await.unwrap();
        say(&ann, id, 1).await;
        id
    };
    let is_shared = async |id| ann.copied(id).await.unwrap().is_some();
    let of_early = child(early).await;
    let again = child(of_early).await;
    assert!(!is_shared(of_early).await && !is_shared(again).await, "they have what was not shared");
    let (of_late, other) = (child(late).await, child(late).await);
    assert!(is_shared(of_late).await && is_shared(other).await);
    ann.share_session(other, true).await.unwrap();
    for id in [late, of_late, other] {
        assert!(copy(&ann, id).await.unwrap());
    }
    // A choice for the parent applies to those without an own one, and their copies are removed.
    ann.share_session(late, false).await.unwrap();
    assert_eq!(ann.withdraw_unshared().await.unwrap(), 1);
    assert_eq!(listed(&ann).await, [other]);
    ann.share_session(early, true).await.unwrap();
    assert!(is_shared(again).await);
    ann.share_session(of_early, false).await.unwrap();
    assert!(!is_shared(again).await && is_shared(early).await);
    // Those that were shared because of a parent are still shared without it, whether or not they were copied.
    let (copied, not_copied) = (child(early).await, child(early).await);
    let grandchild = child(not_copied).await;
    assert!(copy(&ann, copied).await.unwrap());
    ann.delete_session(early).await.unwrap();
    assert_eq!(ann.withdraw_unshared().await.unwrap(), 0);
    for id in [copied, not_copied, grandchild] {
        assert!(is_shared(id).await);
    }
    assert!(!is_shared(of_early).await && !is_shared(again).await);
    assert!(copy(&ann, not_copied).await.unwrap());
    ann.share_session(not_copied, false).await.unwrap();
    assert!(!is_shared(grandchild).await && is_shared(copied).await);
    // Those of a parent that was not shared are not shared, although they began later.
    let private = session(&ann, 1, UnixMicros(NOW.0 - 1)).await;
    let of_private = child(private).await;
    ann.delete_session(private).await.unwrap();
    assert!(!is_shared(of_private).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_other_programs_harm_nobody() {
    let team = Team::with_tables().await;
    let (ann, ben) = (team.open("ann").await, team.open("ben").await);
    share(&ann, UnixMicros(0)).await.unwrap();
    let good = session(&ann, 3, NOW).await;
    assert!(copy(&ann, good).await.unwrap());
    ann.set_team_role(PROJECT.into(), "ben".into(), Some(TeamRole::Contributor)).await.unwrap();
    let mut db = team.sql("ben").await;
    let broken = || Err("23514".to_owned());
    for (last_seq, messages, terms) in [
        (4_294_967_295_i64, 1_i64, 1_i64),
        (-1, 0, 0),
        (1, i64::MAX, 1),
        (1, 1, i64::MAX),
        (1, -1, 1),
    ] {
        let add = sqlx::query(
            "INSERT INTO bethink_team.sessions (id, project, created_at, updated_at, last_seq, messages, terms, redacted)
             VALUES (gen_random_uuid(), 1, 1, 1, $1, $2, $3, 0)",
        );
        let added = add.bind(last_seq).bind(messages).bind(terms).execute(&mut db).await;
        let code = added.unwrap_err().as_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(code, "23514", "{last_seq} {messages} {terms}");
    }
    // More sessions than a search looks in, a message that is none, and places where nothing is.
    for statement in [
        "INSERT INTO bethink_team.sessions (id, project, created_at, updated_at, last_seq, messages, terms, redacted)
         SELECT gen_random_uuid(), 1, 1, 1, 5000000, 5000000, 1000000000000, 0 FROM generate_series(1, 100)",
        "INSERT INTO bethink_team.messages (session, seq, project, message_id, role, created_at, raw)
         SELECT id, 1, 1, repeat('x', 1000), 0, 0, 'not json' FROM bethink_team.sessions WHERE person = 'ben' LIMIT 1",
        "INSERT INTO bethink_team.postings (session, project, term, places)
         SELECT id, 1, 'mill', decode('ffffffffffff000000000101', 'hex') FROM bethink_team.sessions WHERE person = 'ben' LIMIT 1",
    ] {
        assert!(attempt(&mut db, statement).await.unwrap() > 0, "{statement}");
    }
    for statement in [
        "INSERT INTO bethink_team.messages (session, seq, project, message_id, role, created_at, raw)
         SELECT id, 2, 1, 'x', 7, 0, '' FROM bethink_team.sessions WHERE person = 'ben' LIMIT 1",
        "INSERT INTO bethink_team.messages (session, seq, project, message_id, role, created_at, raw)
         SELECT id, 2, 1, '', 1, 0, '' FROM bethink_team.sessions WHERE person = 'ben' LIMIT 1",
        "INSERT INTO bethink_team.postings (session, project, term, places)
         SELECT id, 1, 'axle', 'seven b' FROM bethink_team.sessions WHERE person = 'ben' LIMIT 1",
    ] {
        assert_eq!(attempt(&mut db, statement).await, broken(), "{statement}");
    }
    let found = ann.team_lookup(TeamScope::default(), lookup(&["mill"])).await.unwrap();
    assert!(found.sessions.iter().map(|session| session.last.0).sum::<u64>() <= 10_000_000);
    assert!(found.sessions.iter().any(|session| session.session == good));
    let his = TeamScope { project: None, person: Some("ben".into()) };
    let (his, _) = ann.team_sessions(his, page()).await.unwrap();
    for session in his {
        ann.team_messages(session.id, SeqRange::all()).await.unwrap();
    }
    // Somebody else has a session with the id of hers.
    let hers = session(&ann, 1, NOW).await;
    let taken = "INSERT INTO bethink_team.sessions (id, project, created_at, updated_at, last_seq, messages, terms, redacted)
                 VALUES ($1, 1, 1, 1, 1, 1, 1, 0)";
    sqlx::query(taken).bind(hers.0).execute(&mut db).await.unwrap();
    assert_eq!(ann.uncopied(None, 10).await.unwrap(), [hers], "it is not taken for her own");
    assert!(matches!(copy(&ann, hers).await, Err(StoreError::Conflict(_))));

    // A transaction that does not end makes others wait, but is no fault of the database.
    execute(&mut db, "BEGIN; SELECT bethink_team.open_project('new')").await;
    let other = SharedProject { project_dir: "/new".into(), project: "new".into(), since: NOW };
    assert!(matches!(ann.share_project(other).await, Err(StoreError::Conflict(_))));
    assert!([&ann, &ben].iter().all(|store| store.fault().is_none() && store.damage().is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_being_made_is_removed_too() {
    let team = Team::with_tables().await;
    let (ann, bee) = (team.open("ann").await, team.open("ann").await);
    share(&ann, UnixMicros(0)).await.unwrap();
    let shared = session(&ann, 50, NOW).await;
    for round in 0..20 {
        let copying = async {
            match ann.copied(shared).await? {
                Some(extent) => ann.copy_to_team(batch(shared, extent)).await,
                None => Ok(false),
            }
        };
        let choosing = async {
            match round % 2 {
                0 => bee.share_session(shared, false).await,
                _ => bee.unshare_project(DIR.into()).await.map(drop),
            }
        };
        let (copied, chosen) = tokio::join!(copying, choosing);
        chosen.unwrap();
        copied.unwrap();
        assert!(listed(&ann).await.is_empty(), "{round}");
        share(&ann, UnixMicros(0)).await.unwrap();
        ann.share_session(shared, true).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_admin_removes_is_not_shared_again() {
    let team = Team::with_tables().await;
    let (ann, ben) = (team.open("ann").await, team.open("ben").await);
    share(&ann, UnixMicros(0)).await.unwrap();
    ann.set_team_role(PROJECT.into(), "ben".into(), Some(TeamRole::Contributor)).await.unwrap();
    share(&ben, UnixMicros(0)).await.unwrap();
    let his = session(&ben, 2, NOW).await;
    assert!(copy(&ben, his).await.unwrap());
    ann.remove_team_session(his).await.unwrap();
    say(&ben, his, 1).await;
    assert!(ben.uncopied(None, 10).await.unwrap().is_empty() && listed(&ben).await.is_empty());
    // Not even if he withdraws it first.
    ben.share_session(his, false).await.unwrap();
    ben.share_session(his, true).await.unwrap();
    assert_eq!(ben.copied(his).await.unwrap(), None);
    let [_, _, sessions, messages, postings] = rows(&mut team.sql("ben").await).await;
    assert_eq!([sessions, messages, postings], [1, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_removed_shares_nothing_more_and_can_withdraw() {
    let team = Team::with_tables().await;
    let (ann, ben) = (team.open("ann").await, team.open("ben").await);
    share(&ann, UnixMicros(0)).await.unwrap();
    let refused = share(&ben, UnixMicros(0)).await.unwrap_err().to_string();
    assert!(refused.contains("ben is not a contributor"), "{refused}");
    ann.set_team_role(PROJECT.into(), "ben".into(), Some(TeamRole::Contributor)).await.unwrap();
    share(&ben, UnixMicros(0)).await.unwrap();
    let (first, second) = (session(&ben, 2, NOW).await, session(&ben, 1, NOW).await);
    assert!(copy(&ben, first).await.unwrap() && copy(&ben, second).await.unwrap());
    ann.set_team_role(PROJECT.into(), "ben".into(), None).await.unwrap();
    assert_eq!(listed(&ann).await.len(), 2, "what he shared stays");

    say(&ben, first, 1).await;
    assert!(matches!(copy(&ben, first).await, Err(StoreError::Conflict(_))));
    assert!(ben.fault().is_none(), "it is no fault of the database");
    ben.delete_session(second).await.unwrap();
    assert_eq!(listed(&ann).await, [first]);
    assert_eq!(ben.unshare_project(DIR.into()).await.unwrap(), 1);
    assert!(listed(&ann).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_copies_is_like_that_of_history() {
    let team = Team::with_tables().await;
    let ann = team.open("ann").await;
    share(&ann, UnixMicros(0)).await.unwrap();
    for (number, messages) in (0..).zip([5, 9]) {
        let id = session(&ann, messages, UnixMicros(NOW.0 + number)).await;
        let entries = (1..=messages).map(|seq| (Seq(seq), terms(Seq(seq)))).collect();
        ann.index(IndexBatch { session: id, entries, through: Seq(messages) }).await.unwrap();
        let extent = ann.copied(id).await.unwrap().unwrap();
        // In two parts.
        let half = CopiedExtent { last: Seq(3), ..extent };
        assert!(ann.copy_to_team(batch(id, half)).await.unwrap());
        assert!(copy(&ann, id).await.unwrap());
    }
    for terms in [&["mill", "even"][..], &["wheel7", "mill", "mill", "none", ""], &[]] {
        let own = places(&ann.lookup(lookup(terms)).await.unwrap());
        let shared = ann.team_lookup(TeamScope::default(), lookup(terms)).await.unwrap();
        assert_eq!(places(&shared), own, "{terms:?}");
    }
    // The most common terms are left out if there are too many places.
    let few = IndexLookup { most: 20, ..lookup(&["mill", "odd"]) };
    let found = ann.team_lookup(TeamScope::default(), few).await.unwrap();
    assert!(found.lists[0].is_none() && found.families[0].is_some(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_or_other_tables_are_named() {
    let team = Team::new().await;
    let ann = team.open("ann").await;
    assert_eq!(ann.team_tables().await.unwrap(), TeamTables::Missing);
    let refused = share(&ann, NOW).await.unwrap_err().to_string();
    assert!(refused.contains("bethink team history setup"), "{refused}");
    let id = session(&ann, 1, NOW).await;
    assert!(matches!(ann.team_messages(id, SeqRange::all()).await, Err(StoreError::Conflict(_))));
    ann.delete_session(id).await.unwrap();
    assert!(ann.fault().is_none() && ann.damage().is_none());

    let mut admin = team.admin().await;
    execute(&mut admin, TABLES).await;
    assert_eq!(ann.team_tables().await.unwrap(), TeamTables::Usable { person: "ann".into() });
    share(&ann, NOW).await.unwrap();
    execute(&mut admin, "UPDATE bethink_team.version SET version = 0").await;
    assert!(matches!(ann.team_tables().await.unwrap(), TeamTables::Older { found: 0, .. }));
    execute(&mut admin, "UPDATE bethink_team.version SET version = 99").await;
    assert!(matches!(ann.team_tables().await.unwrap(), TeamTables::Newer { found: 99, .. }));
    execute(&mut admin, TABLES).await;
    assert!(
        matches!(ann.team_tables().await.unwrap(), TeamTables::Newer { found: 99, .. }),
        "not taken back"
    );

    // Somebody else's schema of this name is not used.
    execute(
        &mut admin,
        "DROP SCHEMA bethink_team CASCADE; CREATE SCHEMA bethink_team AUTHORIZATION cid",
    )
    .await;
    let refused = team.admin().await.execute(TABLES).await.unwrap_err().to_string();
    assert!(refused.contains("belongs to another role"), "{refused}");
    let trap = "CREATE TABLE bethink_team.version AS SELECT 1::BIGINT AS version;
        GRANT USAGE ON SCHEMA bethink_team TO PUBLIC; GRANT SELECT ON bethink_team.version TO PUBLIC;
        CREATE FUNCTION bethink_team.withdraw(UUID[]) RETURNS BIGINT LANGUAGE sql AS 'SELECT 1 / 0::BIGINT'";
    execute(&mut admin, trap).await;
    assert_eq!(ann.team_tables().await.unwrap(), TeamTables::Missing);
    let id = session(&ann, 1, NOW).await;
    ann.delete_session(id).await.unwrap();
}
