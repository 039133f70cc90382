//! Puts the routes, their layers and the guard together.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use bytes::Bytes;
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::extensions::Extensions;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::ServerState;
use crate::guard::{Guard, guard};
use crate::observe::{dress, observe, panicked};
use crate::openapi::{Contract, with_problems};
use crate::problem::{HttpFailure, ProblemSort};
use crate::routes::{
    compactions, context, dashboard, events, files, hooks, instructions, jobs, memories,
    memory_work, messages, notes, search, sessions, state, system, team, usage,
};
use crate::serve::Entrance;

/// The whole surface. The guard stands outside of routing: the inner router is a mere fallback of
/// the outer one.
pub(crate) fn router(
    app: ServerState,
    entrances: Vec<Entrance>,
    guard_state: Arc<Guard>,
) -> Router {
    let api = routes().split_for_parts().0.with_state(app);
    let inner = entrances.into_iter().fold(api, |all, entrance| all.merge(entrance.router));
    let inner = inner
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(observe));
    Router::new()
        .fallback_service(inner)
        .layer(from_fn_with_state(guard_state, guard))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(dress))
}

/// `GET /openapi.json`, made once. What entrances serve has shapes of other houses; their routes are listed.
pub(crate) fn openapi(entrances: &[Entrance]) -> Bytes {
    let mut openapi = with_problems(routes().into_openapi());
    let listed = entrances.iter().flat_map(|entrance| {
        let route = |(method, path): &(&str, &str)| json!({ "entrance": entrance.name, "method": method, "path": path });
        entrance.routes.iter().map(route)
    });
    let routes: Vec<_> = listed.collect();
    openapi.extensions =
        Some(Extensions::builder().add("x-bethink-entrances", json!(routes)).build());
    serde_json::to_vec(&openapi).unwrap_or_default().into()
}

/// Every route, with its description.
fn routes() -> OpenApiRouter<ServerState> {
    OpenApiRouter::with_openapi(Contract::openapi())
        .routes(routes!(system::health))
        .routes(routes!(system::metrics))
        .routes(routes!(system::openapi))
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::get, sessions::patch, sessions::delete))
        .routes(routes!(sessions::fork))
        .routes(routes!(messages::append, messages::list))
        .routes(routes!(search::session))
        .routes(routes!(search::project))
        .routes(routes!(search::rebuild))
        .routes(routes!(context::context))
        .routes(routes!(context::report))
        .routes(routes!(context::count))
        .routes(routes!(context::recover))
        .routes(routes!(compactions::compact))
        .routes(routes!(compactions::list))
        .routes(routes!(compactions::undo))
        .routes(routes!(compactions::expand))
        .routes(routes!(compactions::collapses))
        .routes(routes!(compactions::expand_collapse))
        .routes(routes!(context::decisions))
        .routes(routes!(notes::get, notes::put))
        .routes(routes!(notes::update))
        .routes(routes!(state::todos, state::put_todos))
        .routes(routes!(state::get, state::put))
        .routes(routes!(memories::list, memories::remember))
        .routes(routes!(memories::index))
        .routes(routes!(memory_work::extract))
        .routes(routes!(memory_work::forget))
        .routes(routes!(memory_work::lint))
        .routes(routes!(memory_work::rebuild))
        .routes(routes!(memories::get, memories::put, memories::delete))
        .routes(routes!(memories::history))
        .routes(routes!(memories::restore))
        .routes(routes!(memory_work::recall))
        .routes(routes!(memory_work::call_tool))
        .routes(routes!(team::status))
        .routes(routes!(team::init))
        .routes(routes!(team::sync))
        .routes(routes!(team::proposals, team::propose))
        .routes(routes!(team::approve))
        .routes(routes!(team::reject))
        .routes(routes!(instructions::get))
        .routes(routes!(instructions::approve))
        .routes(routes!(instructions::revoke))
        .routes(routes!(memory_work::dream))
        .routes(routes!(dashboard::launch))
        .routes(routes!(dashboard::login))
        .routes(routes!(dashboard::gateway))
        .routes(routes!(events::all))
        .routes(routes!(events::events))
        .routes(routes!(sessions::projects))
        .routes(routes!(hooks::hook))
        .routes(routes!(files::import))
        .routes(routes!(files::export))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::get))
        .routes(routes!(usage::model))
        .routes(routes!(usage::usage))
}

async fn unknown_route(request: Request) -> HttpFailure {
    let path: String = request.uri().path().chars().take(200).collect();
    HttpFailure::new(ProblemSort::NotFound, format!("there is no route {path:?}"))
        .hint("GET /openapi.json lists the routes")
}

async fn wrong_method(request: Request) -> HttpFailure {
    let detail = format!("the route has no method {}; `Allow` lists its methods", request.method());
    HttpFailure::new(ProblemSort::MethodNotAllowed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The contract's routes of this surface, in its own words.
    const CONTRACT: &[(&str, &str)] = &[
        ("get", "/health"),
        ("get", "/metrics"),
        ("get", "/openapi.json"),
        ("post", "/v1/sessions"),
        ("get", "/v1/sessions"),
        ("get", "/v1/sessions/{id}"),
        ("patch", "/v1/sessions/{id}"),
        ("delete", "/v1/sessions/{id}"),
        ("post", "/v1/sessions/{id}/fork"),
        ("post", "/v1/sessions/{id}/messages"),
        ("get", "/v1/sessions/{id}/messages"),
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
        ("post", "/v1/recall"),
        ("post", "/v1/memory-tool"),
        ("get", "/v1/team"),
        ("post", "/v1/team/init"),
        ("post", "/v1/team/sync"),
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
        ("get", "/v1/jobs"),
        ("get", "/v1/jobs/{id}"),
        ("get", "/v1/model"),
        ("get", "/v1/usage"),
    ];

    fn document() -> Value {
        serde_json::from_slice(&openapi(&[])).unwrap()
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
        fn check(value: &Value, schemas: &Value) {
            match value {
                Value::Object(map) => {
                    if let Some(Value::String(target)) = map.get("$ref") {
                        let name = target.strip_prefix("#/components/schemas/").unwrap();
                        assert!(schemas[name].is_object(), "{target}");
                    }
                    map.values().for_each(|value| check(value, schemas));
                }
                Value::Array(items) => items.iter().for_each(|value| check(value, schemas)),
                _ => {}
            }
        }
        let document = document();
        check(&document, &document["components"]["schemas"]);
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
