//! Every route of the API with a valid request, for tests that call them all.

/// One route, with a body that it accepts.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// `{id}` is a session, `{cid}` a compaction, `{job}` a job.
    pub(crate) path: &'static str,
    /// `None` for a route without a body.
    pub(crate) body: Option<&'static str>,
    /// All members of the body are optional, so an empty body is valid.
    pub(crate) optional: bool,
}

const fn bare(method: &'static str, path: &'static str) -> Route {
    Route { method, path, body: None, optional: true }
}

const fn with(method: &'static str, path: &'static str, body: &'static str) -> Route {
    Route { method, path, body: Some(body), optional: false }
}

const fn maybe(method: &'static str, path: &'static str, body: &'static str) -> Route {
    Route { method, path, body: Some(body), optional: true }
}

/// Routes of one session.
pub(crate) const OF_A_SESSION: &[Route] = &[
    bare("GET", "/v1/sessions/{id}"),
    maybe("PATCH", "/v1/sessions/{id}", r#"{"title":"t"}"#),
    maybe("POST", "/v1/sessions/{id}/fork", "{}"),
    with(
        "POST",
        "/v1/sessions/{id}/messages",
        r#"{"messages":[{"role":"user","content":"hello"}]}"#,
    ),
    bare("GET", "/v1/sessions/{id}/messages"),
    bare("GET", "/v1/sessions/{id}/outline"),
    bare("GET", "/v1/sessions/{id}/text?seq=1"),
    bare("GET", "/v1/sessions/{id}/search?q=hello"),
    maybe("POST", "/v1/sessions/{id}/context", "{}"),
    bare("GET", "/v1/sessions/{id}/context/report"),
    maybe("POST", "/v1/sessions/{id}/compact", "{}"),
    bare("GET", "/v1/sessions/{id}/compactions"),
    bare("POST", "/v1/sessions/{id}/compactions/{cid}/undo"),
    bare("POST", "/v1/sessions/{id}/compactions/{cid}/redo"),
    bare("GET", "/v1/sessions/{id}/compactions/{cid}/expand"),
    bare("GET", "/v1/sessions/{id}/collapses"),
    bare("GET", "/v1/sessions/{id}/collapses/{cid}/expand"),
    bare("GET", "/v1/sessions/{id}/decisions"),
    bare("GET", "/v1/sessions/{id}/todos"),
    with("PUT", "/v1/sessions/{id}/todos", r#"{"todos":[]}"#),
    maybe("PUT", "/v1/sessions/{id}/state/plan", r#"{"content":"p","active":true}"#),
    with("PUT", "/v1/sessions/{id}/state/skills", r#"{"skills":[]}"#),
    with("PUT", "/v1/sessions/{id}/state/agents", r#"{"agents":[]}"#),
    with("PUT", "/v1/sessions/{id}/state/tools", r#"{"tools":[]}"#),
    with("PUT", "/v1/sessions/{id}/state/files", r#"{"files":[]}"#),
    bare("GET", "/v1/sessions/{id}/events"),
    bare("GET", "/v1/sessions/{id}/export"),
    bare("DELETE", "/v1/sessions/{id}"),
];

/// The others.
pub(crate) const OF_ALL: &[Route] = &[
    with("POST", "/v1/sessions", r#"{"project_dir":"/proj/garden"}"#),
    bare("GET", "/v1/sessions"),
    bare("GET", "/v1/projects"),
    with("POST", "/v1/import", r#"{"path":"/nowhere/at/all.jsonl"}"#),
    bare("GET", "/v1/agents"),
    bare("GET", "/v1/jobs"),
    bare("GET", "/v1/jobs/{job}"),
    bare("GET", "/metrics"),
    bare("GET", "/openapi.json"),
];

/// A valid id that nothing has.
pub(crate) const NOBODY: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

pub(crate) fn path(route: &Route, session: &str) -> String {
    route.path.replace("{id}", session).replace("{cid}", NOBODY).replace("{job}", NOBODY)
}

pub(crate) fn all() -> impl Iterator<Item = &'static Route> {
    OF_A_SESSION.iter().chain(OF_ALL)
}
