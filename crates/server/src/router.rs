//! Assembles the routes, their layers and the guard.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::MethodRouter;
use bethink_service::ErrorKind;
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::extensions::Extensions;

use crate::app::ServerState;
use crate::gateway_path::{GatewayClient, printable};
use crate::guard::{Guard, guard};
use crate::observe::{add_headers, observe, panicked};
use crate::openapi::{Contract, finished};
use crate::problem::{HttpFailure, ProblemSort};
use crate::provider_format::translate_problems;
use crate::routes::{
    access, agents, candidates, compactions, context, dashboard, events, files, hooks,
    instructions, jobs, memories, memory_work, messages, notes, recording, search, sessions, state,
    system, team, team_history, usage,
};

/// All routes. The inner router is only the fallback of the outer one, so that the guard runs before routing.
pub(crate) fn router(app: ServerState, entrances: Vec<Router>, guard_state: Arc<Guard>) -> Router {
    let api = routes().with_state(app);
    let inner = entrances.into_iter().fold(api, Router::merge);
    let inner = inner
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(observe));
    Router::new()
        .fallback_service(inner)
        .layer(from_fn_with_state(guard_state, guard))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(translate_problems))
        .layer(from_fn(add_headers))
}

/// The only list of routes: the router serves it, and the OpenAPI document describes its handlers.
macro_rules! routes {
    ($($path:literal => $($method:ident $module:ident::$handler:ident),+;)*) => {
        fn routes() -> Router<ServerState> {
            Router::new()$(.route($path, MethodRouter::new()$(.$method($module::$handler))+))*
        }

        /// The descriptions of all handlers.
        #[derive(OpenApi)]
        #[openapi(paths($($($module::$handler,)+)*))]
        struct Handlers;
    };
}

routes! {
    "/health" => get system::health;
    "/metrics" => get system::metrics;
    "/openapi.json" => get system::openapi;
    "/v1/proof" => get access::proof;
    "/v1/token/rotate" => post access::rotate;
    "/v1/sessions" => post sessions::create, get sessions::list;
    "/v1/sessions/{id}" => get sessions::get, patch sessions::patch, delete sessions::delete;
    "/v1/sessions/{id}/fork" => post sessions::fork;
    "/v1/sessions/{id}/conclude" => post sessions::conclude;
    "/v1/sessions/{id}/messages" => post messages::append, get messages::list;
    "/v1/sessions/{id}/outline" => get messages::outline;
    "/v1/sessions/{id}/text" => get messages::text;
    "/v1/sessions/{id}/search" => get search::session;
    "/v1/search" => get search::project;
    "/v1/sessions/{id}/search/rebuild" => post search::rebuild;
    "/v1/sessions/{id}/context" => post context::context;
    "/v1/sessions/{id}/context/report" => get context::report;
    "/v1/sessions/{id}/context/count" => get context::count;
    "/v1/sessions/{id}/recover" => post context::recover;
    "/v1/sessions/{id}/compact" => post compactions::compact;
    "/v1/sessions/{id}/compactions" => get compactions::list;
    "/v1/sessions/{id}/compactions/{cid}/undo" => post compactions::undo;
    "/v1/sessions/{id}/compactions/{cid}/redo" => post compactions::redo;
    "/v1/sessions/{id}/compactions/{cid}/expand" => get compactions::expand;
    "/v1/sessions/{id}/collapses" => get compactions::collapses;
    "/v1/sessions/{id}/collapses/{cid}/expand" => get compactions::expand_collapse;
    "/v1/sessions/{id}/decisions" => get context::decisions;
    "/v1/sessions/{id}/notes" => get notes::get, put notes::put;
    "/v1/sessions/{id}/notes/update" => post notes::update;
    "/v1/sessions/{id}/todos" => get state::todos, put state::put_todos;
    "/v1/sessions/{id}/state/{kind}" => get state::get, put state::put;
    "/v1/memories" => get memories::list, post memories::remember;
    "/v1/memories/index" => get memories::index;
    "/v1/sessions/{id}/extract" => post memory_work::extract;
    "/v1/memories/forget" => post memory_work::forget;
    "/v1/memories/lint" => get memory_work::lint;
    "/v1/memories/rebuild" => post memory_work::rebuild;
    "/v1/memories/{scope}/{name}" => get memories::get, put memories::put, delete memories::delete;
    "/v1/memories/{scope}/{name}/history" => get memories::history;
    "/v1/memories/{scope}/{name}/restore" => post memories::restore;
    "/v1/recording" => get recording::get;
    "/v1/recording/pause" => post recording::pause;
    "/v1/recording/resume" => post recording::resume;
    "/v1/candidates" => get candidates::list;
    "/v1/candidates/{id}/keep" => post candidates::keep;
    "/v1/candidates/{id}/drop" => post candidates::drop;
    "/v1/recall" => post memory_work::recall;
    "/v1/recall/check" => post memory_work::check_recall;
    "/v1/memory-tool" => post memory_work::call_tool;
    "/v1/team" => get team::status;
    "/v1/team/init" => post team::init;
    "/v1/team/sync" => post team::sync;
    "/v1/team/resolve" => post team::resolve;
    "/v1/team/history" => get team_history::status, post team_history::share, delete team_history::unshare;
    "/v1/team/history/members" => put team_history::set_member;
    "/v1/team/history/search" => get team_history::search;
    "/v1/team/history/sessions" => get team_history::sessions;
    "/v1/team/history/sessions/{id}" => get team_history::session, delete team_history::remove;
    "/v1/team/history/sessions/{id}/messages" => get team_history::messages;
    "/v1/sessions/{id}/sharing" => put team_history::share_session;
    "/v1/memories/search" => get memories::search;
    "/v1/memories/import" => post memories::import;
    "/v1/memories/share" => post team::share;
    "/v1/proposals" => get team::proposals, post team::propose;
    "/v1/proposals/{id}/approve" => post team::approve;
    "/v1/proposals/{id}/reject" => post team::reject;
    "/v1/instructions" => get instructions::get;
    "/v1/instructions/approve" => post instructions::approve;
    "/v1/instructions/revoke" => post instructions::revoke;
    "/v1/dream" => post memory_work::dream;
    "/v1/dashboard/launch" => post dashboard::launch;
    "/v1/dashboard/login" => post dashboard::login;
    "/v1/gateway" => get dashboard::gateway;
    "/v1/events" => get events::all;
    "/v1/sessions/{id}/events" => get events::events;
    "/v1/projects" => get sessions::projects;
    "/v1/hooks/{event}" => post hooks::hook;
    "/v1/import" => post files::import;
    "/v1/sessions/{id}/export" => get files::export;
    "/v1/agents" => get agents::list;
    "/v1/jobs" => get jobs::list;
    "/v1/jobs/{id}" => get jobs::get;
    "/v1/model" => get usage::model;
    "/v1/usage" => get usage::usage;
}

/// Returns the OpenAPI document, which is committed as `openapi.json`. The `entrances` serve formats that are defined
/// elsewhere, so only their routes are listed.
pub fn openapi(entrances: &[(&str, &[(&str, &str)])]) -> serde_json::Result<String> {
    let mut openapi = Contract::openapi();
    openapi.merge(Handlers::openapi());
    let mut openapi = finished(openapi);
    let mut listed = Vec::new();
    for (name, routes) in entrances {
        let route = |(method, path): &(&str, &str)| json!({ "entrance": name, "method": method, "path": path });
        listed.extend(routes.iter().map(route));
    }
    openapi.extensions =
        Some(Extensions::builder().add("x-bethink-entrances", json!(listed)).build());
    openapi.to_pretty_json()
}

async fn unknown_route(request: Request) -> HttpFailure {
    let path: String = printable(request.uri().path()).chars().take(200).collect();
    if GatewayClient::of(&path).is_some() {
        let detail = format!("the gateway does not support {} {path}", request.method());
        return HttpFailure::new(ErrorKind::NotFound, detail);
    }
    HttpFailure::new(ErrorKind::NotFound, format!("route not found: {path:?}"))
        .hint("GET /openapi.json lists the routes")
}

async fn wrong_method(request: Request) -> HttpFailure {
    let detail = format!(
        "the route does not support {}; the `Allow` header lists the supported methods",
        request.method()
    );
    HttpFailure::new(ProblemSort::MethodNotAllowed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The routes of the API, as the contract spells them.
    const CONTRACT: &[(&str, &str)] = &[
        ("get", "/health"),
        ("get", "/metrics"),
        ("get", "/openapi.json"),
        ("get", "/v1/proof"),
        ("post", "/v1/token/rotate"),
        ("post", "/v1/sessions"),
        ("get", "/v1/sessions"),
        ("get", "/v1/sessions/{id}"),
        ("patch", "/v1/sessions/{id}"),
        ("delete", "/v1/sessions/{id}"),
        ("post", "/v1/sessions/{id}/fork"),
        ("post", "/v1/sessions/{id}/conclude"),
        ("post", "/v1/sessions/{id}/messages"),
        ("get", "/v1/sessions/{id}/messages"),
        ("get", "/v1/sessions/{id}/outline"),
        ("get", "/v1/sessions/{id}/text"),
        ("get", "/v1/sessions/{id}/search"),
        ("get", "/v1/search"),
        ("post", "/v1/sessions/{id}/search/rebuild"),
        ("post", "/v1/sessions/{id}/context"),
        ("get", "/v1/sessions/{id}/context/report"),
        ("get", "/v1/sessions/{id}/context/count"),
        ("post", "/v1/sessions/{id}/recover"),
        ("post", "/v1/sessions/{id}/compact"),
        ("get", "/v1/sessions/{id}/compactions"),
        ("post", "/v1/sessions/{id}/compactions/{cid}/undo"),
        ("post", "/v1/sessions/{id}/compactions/{cid}/redo"),
        ("get", "/v1/sessions/{id}/compactions/{cid}/expand"),
        ("get", "/v1/sessions/{id}/collapses"),
        ("get", "/v1/sessions/{id}/collapses/{cid}/expand"),
        ("get", "/v1/sessions/{id}/decisions"),
        ("get", "/v1/sessions/{id}/notes"),
        ("put", "/v1/sessions/{id}/notes"),
        ("post", "/v1/sessions/{id}/notes/update"),
        ("get", "/v1/sessions/{id}/todos"),
        ("put", "/v1/sessions/{id}/todos"),
        ("get", "/v1/sessions/{id}/state/{kind}"),
        ("put", "/v1/sessions/{id}/state/{kind}"),
        ("get", "/v1/memories"),
        ("post", "/v1/memories"),
        ("get", "/v1/memories/index"),
        ("post", "/v1/sessions/{id}/extract"),
        ("post", "/v1/memories/forget"),
        ("get", "/v1/memories/lint"),
        ("post", "/v1/memories/rebuild"),
        ("get", "/v1/memories/{scope}/{name}"),
        ("put", "/v1/memories/{scope}/{name}"),
        ("delete", "/v1/memories/{scope}/{name}"),
        ("get", "/v1/memories/{scope}/{name}/history"),
        ("post", "/v1/memories/{scope}/{name}/restore"),
        ("get", "/v1/recording"),
        ("post", "/v1/recording/pause"),
        ("post", "/v1/recording/resume"),
        ("get", "/v1/candidates"),
        ("post", "/v1/candidates/{id}/keep"),
        ("post", "/v1/candidates/{id}/drop"),
        ("get", "/v1/memories/search"),
        ("post", "/v1/memories/import"),
        ("post", "/v1/memories/share"),
        ("post", "/v1/recall"),
        ("post", "/v1/recall/check"),
        ("post", "/v1/memory-tool"),
        ("get", "/v1/team"),
        ("post", "/v1/team/init"),
        ("post", "/v1/team/sync"),
        ("post", "/v1/team/resolve"),
        ("get", "/v1/team/history"),
        ("post", "/v1/team/history"),
        ("delete", "/v1/team/history"),
        ("put", "/v1/team/history/members"),
        ("get", "/v1/team/history/search"),
        ("get", "/v1/team/history/sessions"),
        ("get", "/v1/team/history/sessions/{id}"),
        ("delete", "/v1/team/history/sessions/{id}"),
        ("get", "/v1/team/history/sessions/{id}/messages"),
        ("put", "/v1/sessions/{id}/sharing"),
        ("get", "/v1/proposals"),
        ("post", "/v1/proposals"),
        ("post", "/v1/proposals/{id}/approve"),
        ("post", "/v1/proposals/{id}/reject"),
        ("get", "/v1/instructions"),
        ("post", "/v1/instructions/approve"),
        ("post", "/v1/instructions/revoke"),
        ("post", "/v1/dream"),
        ("post", "/v1/dashboard/launch"),
        ("post", "/v1/dashboard/login"),
        ("get", "/v1/gateway"),
        ("get", "/v1/events"),
        ("get", "/v1/sessions/{id}/events"),
        ("get", "/v1/projects"),
        ("post", "/v1/hooks/{event}"),
        ("post", "/v1/import"),
        ("get", "/v1/sessions/{id}/export"),
        ("get", "/v1/agents"),
        ("get", "/v1/jobs"),
        ("get", "/v1/jobs/{id}"),
        ("get", "/v1/model"),
        ("get", "/v1/usage"),
    ];

    fn document() -> Value {
        serde_json::from_str(&openapi(&[]).unwrap()).unwrap()
    }

    #[test]
    fn the_document_has_every_route_and_no_other() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        for (method, path) in CONTRACT {
            assert!(paths[*path][*method].is_object(), "{method} {path}");
        }
        let count: usize = paths.values().map(|item| item.as_object().unwrap().len()).sum();
        assert_eq!(count, CONTRACT.len());
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    }

    #[test]
    fn every_reference_in_the_document_leads_somewhere() {
        fn check(value: &Value, document: &Value) {
            match value {
                Value::Object(map) => {
                    if let Some(Value::String(target)) = map.get("$ref") {
                        let found = document.pointer(target.strip_prefix('#').unwrap());
                        assert!(found.is_some_and(Value::is_object), "{target}");
                    }
                    map.values().for_each(|value| check(value, document));
                }
                Value::Array(items) => items.iter().for_each(|value| check(value, document)),
                _ => {}
            }
        }
        let document = document();
        check(&document, &document);
    }

    #[test]
    fn every_schema_is_described() {
        let document = document();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name}");
        }
    }

    #[test]
    fn every_operation_describes_its_path_ids_and_its_problem() {
        let document = document();
        for (method, path) in CONTRACT {
            let operation = &document["paths"][*path][*method];
            assert!(operation["responses"]["default"].is_object(), "{method} {path}");
            let named: Vec<_> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
                .collect();
            let in_path: Vec<_> = path.split('/').filter(|part| part.starts_with('{')).collect();
            assert_eq!(named, in_path, "{method} {path}");
        }
    }
}
