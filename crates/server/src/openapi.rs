//! The contract as OpenAPI 3.1, generated from the handlers.

use bethink_api as api;
use bethink_service::Event;
use utoipa::openapi::schema::{AnyOfBuilder, Components, Object, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoParams, Modify, OpenApi, PartialSchema, ToSchema};

use crate::problem::ProblemSort;

/// What no single handler says: the title, the token, the tags, and shapes that no handler names.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "bethink",
        description = "A local memory daemon for coding agents: send it every message of a session, and ask it for \
                       a prompt that fits the model's context window.",
        license(name = "MIT or Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    servers((
        url = "/",
        description = "The daemon that serves this document. `$BETHINK_HOME/daemon.json` holds its address."
    )),
    tags(
        (name = "daemon", description = "Health, metrics, and this document."),
        (name = "sessions", description = "Create, list, change, fork and delete sessions."),
        (name = "messages", description = "The history of a session."),
        (name = "context", description = "The prompt for the next model call, and what fills it."),
        (name = "compactions", description = "Summaries that replace the older part of a prompt."),
        (name = "collapses", description = "Short texts that replace old spans of messages."),
        (name = "search", description = "Search in the history of sessions."),
        (name = "notes", description = "The notes file of a session."),
        (name = "state", description = "Todos and other state that a compaction keeps."),
        (name = "memories", description = "A project's memory: topics, recall, extraction, consolidation."),
        (name = "team", description = "Memory that several people share, and proposals for it."),
        (name = "instructions", description = "Instruction files such as `CLAUDE.md`."),
        (name = "events", description = "Server-sent events."),
        (name = "hooks", description = "Events that coding agents report."),
        (name = "files", description = "Import and export of session files."),
        (name = "jobs", description = "Background work."),
        (name = "models", description = "The model that bethink itself calls, and what it costs."),
        (name = "gateway", description = "Addresses of the gateway to model providers."),
        (name = "dashboard", description = "Login to the dashboard."),
        (name = "projects", description = "Projects that have sessions."),
    ),
    components(schemas(
        api::Problem,
        ProblemType,
        SessionState,
        api::Plan,
        api::Skills,
        api::Agents,
        api::Tools,
        api::Files,
        api::Instructions,
        Event,
        api::ImportFile,
        api::DreamResult,
    )),
    modifiers(&TokenScheme),
    security(("token" = []))
)]
pub(crate) struct Contract;

/// The header of most requests that change something. This type only describes it; `idempotency` reads it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "it describes a header to OpenAPI")]
pub(crate) struct Key {
    /// 1 to 255 printable ASCII characters. A second request with the same key gets the first one's answer
    #[param(rename = "Idempotency-Key")]
    idempotency_key: Option<String>,
}

/// A topic in the path. This type only describes it; `MemoryPath` reads it.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "it describes a path to OpenAPI")]
pub(crate) struct TopicPath {
    /// Whose memory
    scope: api::MemoryScope,
    /// The file name without `.md`. Encode a slash as %2F
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

/// The kinds of problem, with their status and title.
///
/// `api::Problem` keeps a string, because a client may be older than its daemon.
struct ProblemType;

impl PartialSchema for ProblemType {
    fn schema() -> RefOr<Schema> {
        let lines = ProblemSort::ALL.map(|sort| {
            let (status, title) = sort.status_and_title();
            format!("- `{sort}` ({}): {title}.", status.as_u16())
        });
        let description =
            format!("The kind of a problem. It never changes.\n\n{}", lines.join("\n"));
        let kinds = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(ProblemSort::ALL.map(|sort| sort.to_string())))
            .description(Some(description));
        kinds.into()
    }
}

impl ToSchema for ProblemType {}

/// The state of one kind, as `state/{kind}` takes and returns it.
pub(crate) struct SessionState;

impl PartialSchema for SessionState {
    fn schema() -> RefOr<Schema> {
        let kinds = ["Plan", "Skills", "Agents", "Tools", "Files", "Instructions"];
        let any = kinds
            .into_iter()
            .fold(AnyOfBuilder::new(), |any, kind| any.item(Ref::from_schema_name(kind)));
        any.description(Some("The schema that is named like `kind`; for `hooks`, `Instructions`."))
            .into()
    }
}

impl ToSchema for SessionState {}

/// Says once what holds for all operations and all schemas.
pub(crate) fn finished(mut openapi: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let components = openapi.components.get_or_insert_default();
    components.responses.insert("Problem".to_owned(), problem().into());
    if let Some(RefOr::T(Schema::Object(problem))) = components.schemas.get_mut("Problem") {
        problem.properties.insert("type".to_owned(), Ref::from_schema_name("ProblemType").into());
    }
    name_events(components);
    describe_fields(components);
    for item in openapi.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            let responses = &mut operation.responses.responses;
            for response in responses.values_mut() {
                if let RefOr::T(response) = response {
                    describe_response(response, components);
                }
            }
            for status in ["4XX", "default"] {
                responses.insert(status.to_owned(), Ref::from_response_name("Problem").into());
            }
        }
    }
    openapi
}

/// Any operation may answer with it.
fn problem() -> Response {
    let schema = Some(Ref::from_schema_name("Problem"));
    ResponseBuilder::new()
        .description("What was wrong, where, what is allowed and what to do")
        .content("application/problem+json", ContentBuilder::new().schema(schema).build())
        .build()
}

/// A response without a description of its own is described by its schema.
fn describe_response(response: &mut Response, components: &Components) {
    if !response.description.is_empty() {
        return;
    }
    let contents = response.content.values().filter_map(|content| match content {
        RefOr::T(content) => content.schema.as_ref(),
        RefOr::Ref(_) => None,
    });
    let described = contents.filter_map(|schema| match schema {
        RefOr::Ref(schema) => schema.ref_location.rsplit('/').next(),
        RefOr::T(_) => None,
    });
    let schema = described.filter_map(|name| components.schemas.get(name)).next();
    if let Some(RefOr::T(Schema::Object(Object { description: Some(text), .. }))) = schema {
        response.description.clone_from(text);
    }
}

/// Gives each kind of event a schema with a name, so that generated clients have a type for it.
fn name_events(components: &mut Components) {
    let Some(RefOr::T(Schema::OneOf(mut events))) = components.schemas.remove("Event") else {
        return;
    };
    for item in &mut events.items {
        let RefOr::T(Schema::Object(event)) = item else { continue };
        let name = event.title.take().unwrap_or_else(|| {
            let kind = constant(event.properties.get("event"));
            let (first, rest) = kind.split_at(1);
            format!("{}{rest}Event", first.to_uppercase())
        });
        let reference = Ref::from_schema_name(&name).into();
        components.schemas.insert(name, std::mem::replace(item, reference));
    }
    components.schemas.insert("Event".to_owned(), Schema::OneOf(events).into());
}

/// The only value that a property may have.
fn constant(schema: Option<&RefOr<Schema>>) -> &str {
    let Some(RefOr::T(Schema::Object(object))) = schema else { return "unknown" };
    object.enum_values.iter().flatten().next().and_then(|value| value.as_str()).unwrap_or("unknown")
}

/// Descriptions of fields that mean the same in every schema.
const FIELDS: &[(&str, &str)] = &[];

fn describe_fields(components: &mut Components) {
    for schema in components.schemas.values_mut() {
        describe_fields_of(schema);
    }
}

fn describe_fields_of(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            for (name, field) in &mut object.properties {
                describe_field(name, field);
                describe_fields_of(field);
            }
        }
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter_mut().for_each(describe_fields_of),
        RefOr::T(Schema::OneOf(parts)) => parts.items.iter_mut().for_each(describe_fields_of),
        _ => {}
    }
}

fn describe_field(name: &str, field: &mut RefOr<Schema>) {
    let description = match field {
        RefOr::T(Schema::Object(object)) => &mut object.description,
        RefOr::T(Schema::Array(array)) => &mut array.description,
        _ => return,
    };
    if description.is_none() {
        let known = FIELDS.iter().find(|(known, _)| *known == name);
        *description = known.map(|(_, text)| (*text).to_owned());
    }
}
