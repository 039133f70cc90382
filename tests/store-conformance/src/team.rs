//! Tests of proposals and of a team's location.

use uuid::Uuid;

use super::NOW;
use bethink_store::{
    MemorySource, ProposalAuthor, ProposalFilter, ProposalState, Store, StoredProposal, TeamBase,
};

fn proposal(number: u128, project_dir: &str, name: &str) -> StoredProposal {
    StoredProposal {
        id: Uuid::from_u128(number),
        project_dir: project_dir.to_owned(),
        name: name.to_owned(),
        text: "---\nname: fog\n---\nä\r\n".to_owned(),
        replaces: None,
        by: ProposalAuthor::Agent,
        source: None,
        state: ProposalState::Open,
        proposed_at: NOW,
        decided_at: None,
    }
}

async fn ids(store: &impl Store, filter: ProposalFilter) -> Vec<u128> {
    let found = store.proposals(filter).await.unwrap();
    found.iter().map(|one| one.id.as_u128()).collect()
}

pub async fn proposals_come_back_as_put(store: &impl Store) {
    let plain = proposal(1, "/app", "fog");
    let source = MemorySource {
        session: "s".to_owned(),
        messages: vec!["a".to_owned(), "\"b\"".to_owned()],
        strategy: "embedded".to_owned(),
        time: "yesterday".to_owned(),
        ..MemorySource::default()
    };
    let whole = StoredProposal {
        replaces: Some("hash".to_owned()),
        source: Some(source),
        ..proposal(2, "/app", "sky")
    };
    for one in [&plain, &whole] {
        store.put_proposal(one.clone()).await.unwrap();
    }
    assert_eq!(store.proposal(plain.id).await.unwrap(), Some(plain));
    assert_eq!(store.proposal(whole.id).await.unwrap(), Some(whole.clone()));
    assert_eq!(store.proposal(Uuid::from_u128(9)).await.unwrap(), None);
    let decided =
        StoredProposal { state: ProposalState::Rejected, decided_at: Some(NOW), ..whole.clone() };
    let other_text = StoredProposal { text: "another".to_owned(), ..decided.clone() };
    store.put_proposal(other_text).await.unwrap();
    assert_eq!(store.proposal(whole.id).await.unwrap(), Some(decided), "only the decision changes");
}

pub async fn proposals_are_listed_by_project_name_and_state(store: &impl Store) {
    let approved = StoredProposal { state: ProposalState::Approved, ..proposal(2, "/app", "fog") };
    for one in [
        proposal(4, "/app", "fog"),
        proposal(3, "/lib", "fog"),
        approved,
        proposal(1, "/app", "sky"),
    ] {
        store.put_proposal(one).await.unwrap();
    }
    let all = ProposalFilter::default();
    let app = ProposalFilter { project_dir: Some("/app".to_owned()), ..all.clone() };
    let fog = ProposalFilter { name: Some("fog".to_owned()), ..app.clone() };
    let open = ProposalFilter { state: Some(ProposalState::Open), ..app.clone() };
    assert_eq!(ids(store, all).await, [1, 2, 3, 4], "oldest first");
    assert_eq!(ids(store, app).await, [1, 2, 4]);
    assert_eq!(ids(store, fog).await, [2, 4]);
    assert_eq!(ids(store, open).await, [1, 4]);
}

pub async fn the_oldest_decided_proposals_go(store: &impl Store) {
    for number in 1..=6 {
        let state = if number == 2 { ProposalState::Open } else { ProposalState::Rejected };
        let dir = if number == 1 { "/lib" } else { "/app" };
        store.put_proposal(StoredProposal { state, ..proposal(number, dir, "fog") }).await.unwrap();
    }
    store.trim_proposals("/app".to_owned(), 2).await.unwrap();
    assert_eq!(ids(store, ProposalFilter::default()).await, [1, 2, 5, 6]);
}

pub async fn team_bases_are_replaced_together(store: &impl Store) {
    let base = |file: &str, blob: Option<&str>| TeamBase {
        file: file.to_owned(),
        blob: blob.map(str::to_owned),
    };
    let bases = |project: &str| store.team_bases(project.to_owned());
    let first = vec![base("sky.md", None), base("fog.md", Some("b1"))];
    store.put_team_bases("app".to_owned(), first).await.unwrap();
    store.put_team_bases("lib".to_owned(), vec![base("fog.md", Some("b2"))]).await.unwrap();
    let both = [base("fog.md", Some("b1")), base("sky.md", None)];
    assert_eq!(bases("app").await.unwrap(), both, "in order of file");
    store.put_team_bases("app".to_owned(), vec![base("sky.md", Some("b3"))]).await.unwrap();
    assert_eq!(bases("app").await.unwrap(), [base("sky.md", Some("b3"))]);
    store.put_team_bases("app".to_owned(), Vec::new()).await.unwrap();
    assert_eq!(bases("app").await.unwrap(), []);
    assert_eq!(bases("lib").await.unwrap(), [base("fog.md", Some("b2"))]);
}

pub async fn a_team_place_is_replaced(store: &impl Store) {
    assert_eq!(store.team_place("app".to_owned()).await.unwrap(), None);
    for dir in ["/one", "/two \"ä\""] {
        store.put_team_place("app".to_owned(), dir.to_owned()).await.unwrap();
        assert_eq!(store.team_place("app".to_owned()).await.unwrap().as_deref(), Some(dir));
    }
    assert_eq!(store.team_place("lib".to_owned()).await.unwrap(), None);
}
