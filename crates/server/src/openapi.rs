//! The HTTP API as an OpenAPI 3.1 document, generated from the handlers.

use bethink_api as api;
use bethink_service::Event;
use utoipa::openapi::schema::{AnyOfBuilder, Components, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoParams, OpenApi, PartialSchema, ToSchema};

use crate::problem::ProblemSort;

/// The parts of the document that belong to no handler: the title, the token, the tags, and types that no handler
/// names.
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
        description = "The daemon that serves this document. `$BETHINK_HOME/daemon.json` contains its address."
    )),
    tags(
        (name = "daemon", description = "Health, metrics, access, and this document."),
        (name = "sessions", description = "Create, list, change, fork and delete sessions."),
        (name = "messages", description = "The history of a session."),
        (name = "context", description = "The prompt for the next model call, and what fills it."),
        (name = "compactions", description = "Summaries that replace the older part of a prompt."),
        (name = "collapses", description = "Short texts that replace old spans of messages."),
        (name = "search", description = "Search the history of sessions."),
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
        (name = "gateway", description = "The addresses to which clients send their model calls."),
        (name = "dashboard", description = "Log in to the dashboard."),
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
        api::AgentTranscripts,
        api::DreamResult,
        api::StateKind,
        api::HookAgent,
        api::CodingAgent,
    )),
    security(("token" = []))
)]
pub(crate) struct Contract;

/// The header of most requests that change something. This type only describes it; `idempotency` reads it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "it describes a header to OpenAPI")]
pub(crate) struct Key {
    /// A key of 1 to 255 printable ASCII characters. A second request with the same key has no further effect, and
    /// gets the answer to the first one; the `context` of an append is the present one. If the daemon was killed after
    /// it deleted something or changed a memory file, and before it stored the answer, the second request is carried
    /// out again, and may be refused because nothing is left to do
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
            format!("The kind of problem. These names never change.\n\n{}", lines.join("\n"));
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
        any.description(Some(
            "The schema named after the `kind`, such as `Plan` for `plan`. For `hooks`, it is `Instructions`.",
        ))
        .into()
    }
}

impl ToSchema for SessionState {}

/// Adds the parts that are the same for all operations and schemas.
pub(crate) fn finished(mut openapi: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let components = openapi.components.get_or_insert_default();
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("The content of `$BETHINK_HOME/token`."));
    components.add_security_scheme("token", SecurityScheme::Http(token.build()));
    components.responses.insert("Problem".to_owned(), problem().into());
    if let Some(RefOr::T(Schema::Object(problem))) = components.schemas.get_mut("Problem") {
        problem.properties.insert("type".to_owned(), Ref::from_schema_name("ProblemType").into());
    }
    name_variants(components, "Event", "event", |kind| format!("{kind}Event"));
    join_model_steps(components);
    name_variants(components, "ModelStep", "step", |step| format!("Model{step}"));
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

/// Returns the response of every operation that fails.
fn problem() -> Response {
    let schema = Some(Ref::from_schema_name("Problem"));
    ResponseBuilder::new()
        .description("An error: what is wrong, and what to do")
        .content("application/problem+json", ContentBuilder::new().schema(schema).build())
        .build()
}

/// If a response has no description, gives it the description of its schema.
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
    let text = match schema {
        Some(RefOr::T(Schema::Object(schema))) => &schema.description,
        Some(RefOr::T(Schema::OneOf(schema))) => &schema.description,
        Some(RefOr::T(Schema::AnyOf(schema))) => &schema.description,
        _ => &None,
    };
    response.description = text.clone().unwrap_or_default();
}

/// Moves the fields that all steps of a model call share into each step, because generators cannot combine a union with
/// other fields.
fn join_model_steps(components: &mut Components) {
    let Some(RefOr::T(Schema::Object(event))) = components.schemas.get_mut("ModelEvent") else {
        return;
    };
    let joined = Ref::from_schema_name("ModelStep").into();
    let Some(RefOr::T(Schema::AllOf(parts))) = event.properties.insert("data".to_owned(), joined)
    else {
        return;
    };
    let Some(RefOr::T(Schema::OneOf(steps))) = components.schemas.get_mut("ModelStep") else {
        return;
    };
    for part in parts.items {
        let RefOr::T(Schema::Object(shared)) = part else { continue };
        for step in &mut steps.items {
            let RefOr::T(Schema::Object(step)) = step else { continue };
            step.properties.extend(shared.properties.clone());
            step.required.extend(shared.required.clone());
        }
    }
}

/// Gives each variant of a union, and the variant's data, a named schema, so that generated clients have types for
/// them. `tag` is the field that distinguishes the variants.
fn name_variants(components: &mut Components, union: &str, tag: &str, name: fn(&str) -> String) {
    let Some(RefOr::T(Schema::OneOf(mut variants))) = components.schemas.remove(union) else {
        return;
    };
    for item in &mut variants.items {
        let RefOr::T(Schema::Object(variant)) = item else { continue };
        let named = variant.title.take();
        let name =
            named.unwrap_or_else(|| name(&pascal_case(constant(variant.properties.get(tag)))));
        if let Some(data @ RefOr::T(Schema::Object(_))) = variant.properties.get_mut("data") {
            let data_name = format!("{name}Data");
            let reference = Ref::from_schema_name(&data_name).into();
            components.schemas.insert(data_name, std::mem::replace(data, reference));
        }
        let reference = Ref::from_schema_name(&name).into();
        components.schemas.insert(name, std::mem::replace(item, reference));
    }
    components.schemas.insert(union.to_owned(), Schema::OneOf(variants).into());
}

/// Converts `gave_up` to `GaveUp`.
fn pascal_case(word: &str) -> String {
    let capitalized = |part: &str| match part.split_at_checked(1) {
        Some((first, rest)) => first.to_uppercase() + rest,
        None => part.to_owned(),
    };
    word.split('_').map(capitalized).collect()
}

/// Returns the only value that a property may have.
fn constant(schema: Option<&RefOr<Schema>>) -> &str {
    let Some(RefOr::T(Schema::Object(object))) = schema else { return "unknown" };
    object.enum_values.iter().flatten().next().and_then(|value| value.as_str()).unwrap_or("unknown")
}

/// Descriptions of fields that have the same meaning in every schema.
const FIELDS: &[(&str, &str)] = &[
    ("after_seq", "Position of the message after which the memories were added."),
    ("at", "When it happened, as RFC 3339."),
    ("attempt", "Number of the attempt, counted from 1."),
    ("branch", "Branch of the repository."),
    ("bytes", "Size in bytes."),
    ("cache_read_tokens", "Number of tokens read from a cache."),
    ("calls", "Number of calls."),
    ("change", "What was changed in the request before the retry."),
    ("compaction", "ID of the compaction that was made."),
    ("content", "The text."),
    ("created_at", "When it was created, as RFC 3339."),
    ("description", "A one-line description."),
    ("detail", "A human-readable explanation."),
    ("dir", "The memory directory."),
    ("dry_run", "Whether this was a dry run, which changes nothing."),
    ("event", "The kind of event."),
    (
        "fidelity",
        "Share of the repeatedly used names that the new prompt still contains, from 0 to 1, weighted by expected need.",
    ),
    ("file", "Name of the file."),
    ("first_seq", "Position of the first message."),
    ("hint", "What to do."),
    ("id", "The ID."),
    ("imported_by", "The file that imports this one."),
    ("items", "Number of todos."),
    ("kind", "The kind."),
    ("last_seq", "Position of the last message."),
    ("line", "Line number, counted from 1."),
    ("lines", "Number of lines."),
    ("max_tokens", "The `max_tokens` for the next call."),
    ("message", "The error message, or why an answer was rejected."),
    ("model", "Name of the model."),
    ("ms", "Duration in milliseconds."),
    ("name", "The name."),
    ("next_cursor", "Cursor of the next page; not set on the last page."),
    ("ok", "Whether the tool succeeded."),
    ("output_tokens", "Number of tokens that the model wrote."),
    ("path", "Path of the file."),
    ("project", "Name of the project's memory."),
    ("project_dir", "A directory of the project."),
    ("reason", "Why."),
    ("remaining", "Number of tokens left until a compaction is due."),
    ("remote", "The remote repository."),
    ("seq", "Position of the message in its session."),
    ("session_id", "The session."),
    ("status", "The HTTP status."),
    ("step", "The step."),
    ("tags", "Labels by which lists can be filtered."),
    ("text", "The text."),
    ("through_seq", "Position of the newest message that the notes cover."),
    ("title", "The title."),
    ("tokens", "Number of tokens."),
    ("tokens_after", "Size of the prompt after the compaction, in tokens."),
    ("tokens_before", "Size of the prompt before the compaction, in tokens."),
    ("tool", "Name of the tool."),
    ("topics", "Number of topics."),
    ("undone", "Whether the compaction was undone."),
    ("unpriced", "Number of calls to models without a known price."),
    ("updated_at", "When it last changed, as RFC 3339."),
    ("wait_ms", "How long to wait before the retry, in milliseconds."),
    ("warning", "A human-readable warning."),
    ("warnings", "Human-readable warnings."),
    ("why", "The reason."),
    ("window", "Size of the context window in tokens."),
    ("words", "What the user asked bethink to forget."),
];

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
