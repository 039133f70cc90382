//! The contract as OpenAPI 3.1, generated from the handlers.

use bethink_api as api;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
use utoipa::{Modify, OpenApi};

/// What no single handler says: the title, the token, and the shapes behind `state/{kind}`.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "bethink",
        description = "A local memory daemon for coding agents: hand it every message of a session, \
                       get back the prompt that fits."
    ),
    components(schemas(
        api::Problem,
        api::ContextReport,
        api::Plan,
        api::Skills,
        api::Agents,
        api::Tools,
        api::Files,
        api::Instructions,
        api::ImportRequest,
        api::ImportFile,
        api::DreamResult,
    )),
    modifiers(&Token),
    security(("token" = []))
)]
pub(crate) struct Contract;

struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The content of `$BETHINK_HOME/token`."))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Every operation may answer with a problem; said once here instead of at each handler.
pub(crate) fn with_problems(mut openapi: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let problem = ResponseBuilder::new()
        .description("What was wrong, where, what is allowed, what to do")
        .content(
            "application/problem+json",
            ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build(),
        )
        .build();
    for item in openapi.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            operation.responses.responses.insert("default".into(), problem.clone().into());
        }
    }
    openapi
}
