//! Tests of the port's guarantees, which every implementation runs.
//!
//! [`store_conformance!`](crate::store_conformance) makes a test for each guarantee, given a function
//! that opens an empty store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::large_futures,
    missing_docs,
    reason = "these are tests"
)]

pub mod appends;
pub mod calls;
pub mod candidates;
pub mod clients;
pub mod collapses;
pub mod health;
pub mod hooks;
pub mod imports;
pub mod index;
pub mod jobs;
pub mod lineage;
pub mod memory;
pub mod notes;
pub mod recording;
pub mod sent;
pub mod sessions;
pub mod team;

use bethink_transcript::{MessageId, Role, Seq, SessionId, UnixMicros};
use bytes::Bytes;
use uuid::Uuid;

use bethink_store::{
    Append, AppendResult, IndexBatch, IndexLookup, NewMessage, NewSession, Receipt, SearchScope,
    SeqRange, Store, StoreError, StoredMessage, TermPlaces, Terms,
};

/// Makes a test for each guarantee. `$make` is an `async fn` that opens an empty store. It returns the store, and
/// a value that must outlive it, such as its directory.
#[macro_export]
macro_rules! store_conformance {
    ($make:path) => {
        $crate::store_conformance!(@tests $make;
            appends: seqs_have_no_gaps_under_concurrent_appenders,
            appends: an_id_is_stored_once,
            appends: an_id_twice_in_one_request_is_stored_once,
            appends: an_append_of_new_messages_is_stored_only_if_all_are_new,
            appends: an_id_is_new_in_another_session,
            appends: a_receipt_is_honoured_once,
            appends: a_receipt_with_another_request_is_refused,
            appends: concurrent_requests_under_one_receipt_are_one,
            appends: a_refused_append_spoils_no_neighbour,
            appends: an_append_to_no_session_is_not_found,
            appends: an_empty_append_changes_nothing,
            appends: a_long_append_is_whole,
            appends: bytes_come_back_as_they_came,
            appends: ranges_are_open_and_limited,
            appends: an_answered_append_is_marked_and_found_once_indexed,
            appends: a_search_stays_in_its_session,
            appends: a_search_term_is_never_syntax,
            appends: messages_are_picked_in_the_order_asked,
            sessions: a_session_comes_back_as_made,
            sessions: a_session_is_made_once,
            sessions: creation_is_repeated_under_its_receipt,
            sessions: what_is_some_changes,
            sessions: pages_cover_the_list_once,
            sessions: filters_select,
            sessions: the_projects_of_earlier_sessions_are_set,
            sessions: a_cursor_of_elsewhere_is_refused,
            sessions: projects_are_counted,
            sessions: a_deleted_session_is_gone_everywhere,
            sessions: decisions_come_in_order,
            sessions: a_compaction_comes_with_its_decisions_or_not_at_all,
            sessions: undoing_twice_is_undoing_once,
            sessions: other_receipts_are_kept,
            sessions: a_closed_store_says_so,
            imports: lines_come_back_byte_for_byte,
            imports: imported_messages_are_recorded,
            imports: a_repeated_id_is_a_record_alone,
            imports: an_import_is_all_or_nothing,
            imports: a_child_that_is_deleted_leaves_its_lines,
            imports: a_file_is_known_by_its_hash,
            index: messages_are_found_once_indexed,
            index: an_index_done_twice_is_done_once,
            index: an_index_is_made_in_stretches,
            index: an_append_amid_an_import_is_marked_with_it,
            index: the_mark_goes_with_its_session,
            collapses: spans_come_back_in_order,
            collapses: a_commit_comes_with_its_decisions_or_not_at_all,
            collapses: a_staged_span_gives_way_to_a_newer_one,
            collapses: spans_go_with_their_session,
            clients: a_client_means_one_session,
            clients: what_a_client_meant_goes_with_the_session,
            lineage: the_longest_beginning_is_found,
            lineage: a_whole_history_goes_before_a_part,
            lineage: marks_are_replaced_from_a_message_on,
            lineage: a_session_begins_with_its_marks_or_not_at_all,
            lineage: scopes_are_apart,
            lineage: marks_go_with_their_session,
            health: a_store_that_can_be_written_has_no_fault,
            health: a_fault_stays_until_writing_works,
            health: a_check_of_intact_history_finds_nothing,
            health: the_time_of_a_check_is_kept,
            notes: notes_come_back_as_put,
            notes: notes_go_with_their_session,
            sent: the_last_request_is_replaced,
            sent: the_last_request_goes_with_its_session,
            memory: versions_come_back_newest_first,
            memory: versions_outlive_their_session,
            memory: the_oldest_of_too_many_versions_go,
            memory: a_plan_is_replaced_until_it_is_finished,
            memory: an_extraction_goes_with_its_session,
            memory: a_secret_is_allowed_once,
            memory: a_statement_is_refused_once,
            memory: the_last_dream_is_replaced,
            memory: vectors_of_topics_are_replaced_and_deleted,
            memory: the_first_lock_name_stays,
            memory: an_approved_import_can_be_revoked,
            candidates: candidates_come_with_their_plan_and_once,
            candidates: the_oldest_of_too_many_candidates_go,
            candidates: candidates_go_with_their_session,
            team: proposals_come_back_as_put,
            team: proposals_are_listed_by_project_name_and_state,
            team: the_oldest_decided_proposals_go,
            team: team_bases_are_replaced_together,
            team: a_team_place_is_replaced,
            hooks: transcript_positions_are_replaced,
            hooks: transcript_positions_go_with_their_session,
            hooks: transcript_places_are_added_once,
            hooks: delivered_memories_are_replaced_and_deleted,
            recording: pauses_are_ended_in_place,
            recording: unrecorded_marks_are_kept_once,
            calls: calls_are_summed_by_purpose_and_model,
            calls: sums_are_of_a_session_or_of_a_time,
            calls: a_call_is_written_down_once,
            calls: what_was_spent_outlives_its_session,
            calls: absurd_figures_break_no_sum,
            index: fields_lengths_and_marks_come_back,
            index: a_project_is_searched_as_one,
            index: words_that_begin_alike_are_one_list,
            index: marks_are_looked_up_where_terms_occur,
            index: too_common_terms_are_left_out,
            index: an_index_that_is_tidied_says_the_same,
            index: a_session_is_indexed_anew,
            index: a_number_is_not_handed_out_again,
            index: lagging_sessions_are_known,
            jobs: a_job_comes_back_as_queued,
            jobs: the_newest_jobs_come_first,
            jobs: the_oldest_job_is_leased_once,
            jobs: a_lease_that_ran_out_is_taken_over,
            jobs: a_heartbeat_keeps_the_lease,
            jobs: only_the_owner_finishes,
            jobs: released_work_is_queued_again,
            jobs: work_in_the_background_goes_last,
            jobs: an_import_notes_its_progress,
        );
    };
    (@tests $make:path; $($module:ident : $promise:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let (_kept, store) = $make().await;
                $crate::$module::$promise(&store).await;
            }
        )*
    };
}

pub(crate) const NOW: UnixMicros = UnixMicros(1_700_000_000_000_000);

pub(crate) fn session_id(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

pub(crate) fn new_session(number: u128) -> NewSession {
    NewSession::new(session_id(number), "/project".into(), r#"{"name":"none"}"#.into(), NOW)
}

pub(crate) async fn make_session(store: &impl Store, number: u128) -> SessionId {
    store.create_session(new_session(number), None).await.unwrap().session.id
}

pub(crate) fn message_id(id: &str) -> MessageId {
    MessageId::new(id).unwrap()
}

/// Makes a message with this text.
pub(crate) fn message(id: &str, text: &str) -> NewMessage {
    NewMessage {
        id: message_id(id),
        role: Role::User,
        raw: Bytes::from(format!(r#"{{"role":"user","content":"{text}"}}"#)),
        recorded: false,
        created_at: NOW,
    }
}

pub(crate) fn append(session: SessionId, messages: Vec<NewMessage>) -> Append {
    Append { session, messages, only_new: false, receipt: None, at: NOW }
}

pub(crate) fn receipt(key: &str, fingerprint: &str) -> Receipt {
    Receipt { key: key.into(), fingerprint: fingerprint.into() }
}

pub(crate) async fn say(store: &impl Store, session: SessionId, ids: &[&str]) -> AppendResult {
    let messages = ids.iter().map(|id| message(id, id)).collect();
    store.append(append(session, messages)).await.unwrap()
}

/// Finishes the index, as a search does.
pub(crate) async fn finish_index(store: &impl Store, session: SessionId) {
    while let Some(range) = store.unindexed(session).await.unwrap() {
        let messages = store.messages(session, range).await.unwrap();
        let through = messages.last().unwrap().seq;
        let entries = messages.into_iter().map(|message| (message.seq, terms(&message))).collect();
        store.index(IndexBatch { session, entries, through }).await.unwrap();
    }
}

fn terms(message: &StoredMessage) -> Terms {
    let text = String::from_utf8_lossy(&message.raw);
    let said = text.split("\"content\":\"").nth(1).unwrap_or_default();
    Terms { user: said.trim_end_matches("\"}").to_owned(), ..Terms::default() }
}

pub(crate) async fn look_up(store: &impl Store, scope: SearchScope, terms: &[&str]) -> TermPlaces {
    let terms = terms.iter().map(|term| (*term).to_owned()).collect();
    store
        .lookup(IndexLookup {
            scope,
            terms,
            families: Vec::new(),
            marks: Vec::new(),
            most: 1_000_000,
        })
        .await
        .unwrap()
}

/// Returns where a word occurs in the indexed messages of a session.
pub(crate) async fn found(store: &impl Store, session: SessionId, word: &str) -> Vec<Seq> {
    let found = look_up(store, SearchScope::Session(session), &[word]).await;
    let list = found.lists[0].clone().unwrap();
    list.iter().map(|posting| Seq(u64::from(posting.seq))).collect()
}

pub(crate) async fn history(store: &impl Store, session: SessionId) -> Vec<StoredMessage> {
    store.messages(session, SeqRange::all()).await.unwrap()
}

pub(crate) async fn ids(store: &impl Store, session: SessionId) -> Vec<String> {
    history(store, session).await.iter().map(|message| message.id.to_string()).collect()
}

pub(crate) fn places(appended: &AppendResult) -> Vec<(u64, bool)> {
    appended.places.iter().map(|(seq, new)| (seq.0, *new)).collect()
}

pub(crate) fn seqs(messages: &[StoredMessage]) -> Vec<Seq> {
    messages.iter().map(|message| message.seq).collect()
}

#[track_caller]
pub(crate) fn assert_not_found<T: std::fmt::Debug>(answer: bethink_store::StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::NotFound { .. })), "{answer:?}");
}

#[track_caller]
pub(crate) fn assert_conflict<T: std::fmt::Debug>(answer: bethink_store::StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::Conflict(_))), "{answer:?}");
}
