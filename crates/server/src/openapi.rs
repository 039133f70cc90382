//! The contract as OpenAPI 3.1, generated from the handlers.

use bethink_api as api;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
use utoipa::{IntoParams, Modify, OpenApi};

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
        api::StateKind,
        api::UsageBy,
    )),
    modifiers(&TokenScheme),
    security(("token" = []))
)]
pub(crate) struct Contract;

/// What most requests that change something take. Only described here: `idempotency` reads it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "it describes a header to OpenAPI")]
pub(crate) struct Key {
    /// 1 to 255 printable ASCII characters
    #[param(rename = "Idempotency-Key")]
    idempotency_key: Option<String>,
}

/// A topic in the path. Only described here: `MemoryPath` reads it.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "it describes a path to OpenAPI")]
pub(crate) struct TopicPath {
    scope: api::MemoryScope,
    /// The file without `.md`; a slash in it is sent as %2F
    name: String,
}

struct TokenScheme;

impl Modify for TokenScheme {
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
