//! Connects the services: which ones contribute to prompts, listen to sessions, and handle jobs.

use std::sync::Arc;

use bethink_memories::{
    DreamJob, ExtractJob, IndexContributor, InstructionContributor, MemoryService,
    RecallContributor, VectorsJob,
};
use bethink_notes::NotesService;
use bethink_search::SearchService;
use bethink_service::{JobHandler, JobRunner, ServiceContext};
use bethink_sessions::{
    CollapseJob, Contributor, ForkCheckJob, Listener, SessionEvent, SessionService,
};
use bethink_team_history::TeamHistoryService;
use bethink_transfer::TransferService;

use crate::check::DailyCheck;

/// Creates the job runner with a handler for each kind of job.
pub(crate) fn runner(
    cx: &ServiceContext,
    search: &SearchService,
    sessions: &SessionService,
    memories: &MemoryService,
    notes: &NotesService,
    team_history: &TeamHistoryService,
    transfer: &TransferService,
) -> JobRunner {
    let handlers: Vec<Arc<dyn JobHandler>> = vec![
        Arc::new(transfer.clone()),
        Arc::new(ForkCheckJob(sessions.clone())),
        Arc::new(notes.clone()),
        Arc::new(CollapseJob(sessions.clone())),
        Arc::new(DreamJob(memories.clone())),
        Arc::new(ExtractJob(memories.clone())),
        Arc::new(VectorsJob(memories.clone())),
        Arc::new(search.clone()),
        Arc::new(team_history.clone()),
    ];
    JobRunner::new(cx.clone(), handlers)
}

/// Registers the contributors to prompts, in the order of their texts, and the listeners to sessions.
pub(crate) fn sessions(
    sessions: &SessionService,
    search: &SearchService,
    memories: &MemoryService,
    notes: &NotesService,
    team_history: &TeamHistoryService,
    check: DailyCheck,
) {
    let contributors: Vec<Arc<dyn Contributor>> = vec![
        Arc::new(notes.clone()),
        Arc::new(IndexContributor(memories.clone())),
        Arc::new(InstructionContributor(memories.clone())),
        Arc::new(RecallContributor(memories.clone())),
    ];
    let (search, memories, notes) = (search.clone(), memories.clone(), notes.clone());
    let team_history = team_history.clone();
    let listeners: Vec<Listener> = vec![
        Box::new(move |event| match event {
            SessionEvent::Appended { handle, new, .. } => {
                new.iter().for_each(|message| search.appended(handle.id, message.seq));
                check.run_if_due();
            }
            SessionEvent::Released { session } => search.remove_from_queue(*session),
            SessionEvent::Missed => search.clear_queue(),
            _ => {}
        }),
        Box::new(move |event| memories.observe(event)),
        Box::new(move |event| notes.observe(event)),
        Box::new(move |event| team_history.observe(event)),
    ];
    sessions.connect(contributors, listeners);
}
