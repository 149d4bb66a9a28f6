//! Responses of an operation: its success, and one per status of its error codes.

use utoipa::openapi::{
    Content, ContentBuilder, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Responses,
    ResponsesBuilder, Schema,
    header::Header,
    link::LinkBuilder,
    schema::{SchemaType, Type},
};

use crate::{envelopes, examples};
use contracts::{
    error::{ErrorCode, Retry},
    operations::{GATEWAY, Link, Operation, ResponseKind},
    schema::Schema as ContractSchema,
    stream::MEDIA_TYPE,
};

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/jsonl";
const TEXT: &str = "text/plain";
const CSV: &str = "text/csv";

const NOT_MODIFIED: &str = "Not modified: the cached response in `If-None-Match` is still valid.";

/// Names in `components` of the headers that several responses share.
const REQUEST_ID: &str = "RequestId";
const GATEWAY_REQUEST_ID: &str = "GatewayRequestId";
const CORRELATION_ID: &str = "CorrelationId";
const RETRY_AFTER: &str = "RetryAfter";

pub(crate) fn for_operation(operation: &Operation) -> Responses {
    let mut all = success_responses(operation);
    for (status, codes) in operation.error_codes() {
        all = all.response(status.to_string(), failure_response(operation, &codes));
    }
    all.build()
}

fn success_responses(operation: &Operation) -> ResponsesBuilder {
    let all = ResponsesBuilder::new();
    let ok = with_links(response_builder("The result."), operation.links);
    match operation.response {
        ResponseKind::Json(result) => {
            all.response("200", ok.content(JSON, envelope_content(result.name, None)))
        }
        ResponseKind::Cacheable(result) => {
            let cacheable = |response: ResponseBuilder| {
                response.header("ETag", etag()).header("Cache-Control", cache_control())
            };
            all.response("200", cacheable(ok.content(JSON, envelope_content(result.name, None))))
                .response("304", cacheable(response_builder(NOT_MODIFIED)))
        }
        ResponseKind::Turn => {
            let json = envelope_content("AgentExecuteResponse", Some(examples::responses()));
            let text = text("The answer's `PrimaryOutputText`.");
            let ok = ok
                .content(JSON, json)
                .content(MEDIA_TYPE, event_stream())
                .content(TEXT, Content::new(Some(text)));
            all.response("200", ok)
        }
        ResponseKind::Report(result) => {
            let rows = text("A header line and one line per group (RFC 4180), for `Accept: text/csv`.");
            let ok = ok.content(JSON, envelope_content(result.name, None));
            all.response("200", ok.content(CSV, Content::new(Some(rows))))
        }
        ResponseKind::Document(schema) => {
            let document =
                response_builder("The document.").header("Content-Disposition", content_disposition());
            all.response("200", document.content(JSON, document_content(schema)))
        }
        ResponseKind::Lines(schema) => {
            let lines = response_builder("The documents and the end marker.")
                .header("Content-Disposition", content_disposition());
            all.response("200", lines.content(JSON_LINES, document_content(schema)))
        }
        ResponseKind::Stream => all
            .response("200", response_builder("The events.").content(MEDIA_TYPE, event_stream()))
            .response("204", no_new_events()),
        ResponseKind::Link => {
            let cacheable = |response: ResponseBuilder| {
                response.header("ETag", etag()).header("Cache-Control", cache_control())
            };
            let link = cacheable(response_builder(
                "The payload itself with `inline`, or else the link if `Accept` names `application/json`. A \
                link expires after five minutes and has no `ETag`.",
            ));
            let redirect = response_builder(
                "Redirect to the payload. The URL in `Location` expires after five minutes. Follow it without \
                the `Authorization` header, because it is presigned.",
            );
            all.response(
                "200",
                link.content(JSON, envelope_content("PayloadAnswer", Some(examples::payloads()))),
            )
            .response("304", cacheable(response_builder(NOT_MODIFIED)))
            .response("302", redirect.header("Location", location()))
        }
    }
}

/// The response for a status. One with a single code is a component that operations share.
fn failure_response(operation: &Operation, codes: &[ErrorCode]) -> RefOr<Response> {
    let as_text =
        matches!(operation.response, ResponseKind::Turn) && !codes.iter().all(|code| GATEWAY.contains(code));
    match codes {
        [only] if !as_text => Ref::from_response_name(only.as_str()).into(),
        _ => error_response(codes, as_text).into(),
    }
}

/// The responses that operations share.
pub(crate) fn shared_responses() -> impl Iterator<Item = (&'static str, Response)> {
    ErrorCode::ALL.iter().map(|code| (code.as_str(), error_response(&[*code], false)))
}

fn error_response(codes: &[ErrorCode], as_text: bool) -> Response {
    let mut response = response_builder(&description(codes))
        .content(JSON, Content::new(Some(envelopes::failure_with_codes(codes))));
    if as_text {
        let line = text("The errors on one line: `Code: message`, joined by `; `.");
        response = response.content(TEXT, Content::new(Some(line)));
    }
    // For these the service passes on the provider's `Retry-After`, or knows when the budget's window ends.
    let upstream = [ErrorCode::ModelRateLimited, ErrorCode::ModelUnavailable, ErrorCode::TurnOverBudget];
    if codes.iter().any(|code| code.retryable() || upstream.contains(code)) {
        response = response.header_ref("Retry-After", component(RETRY_AFTER));
    }
    if codes.contains(&ErrorCode::Unauthenticated) {
        let scheme = HeaderBuilder::new().description(Some("`Bearer`, if the gateway rejected the request."));
        response = response.header("WWW-Authenticate", scheme.build());
    }
    response.build()
}

/// Describes the codes of a status, with their meaning and retry advice.
fn description(codes: &[ErrorCode]) -> String {
    let line = |code: &ErrorCode| format!("- `{code}`: {}{}", code.summary(), advice(*code));
    codes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn advice(code: ErrorCode) -> &'static str {
    match code.retry() {
        Retry::Never => "",
        Retry::SameRequest => " Send the same request again later.",
        Retry::NewTurn => " Send the same input again under a new `TurnId`.",
    }
}

fn response_builder(description: &str) -> ResponseBuilder {
    ResponseBuilder::new()
        .description(description)
        .header_ref("X-Request-Id", component(REQUEST_ID))
        .header_ref("X-Amzn-RequestId", component(GATEWAY_REQUEST_ID))
        .header_ref("X-Correlation-ID", component(CORRELATION_ID))
}

fn envelope_content(result: &str, examples: Option<examples::Examples>) -> Content {
    ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(envelopes::envelope_name(result))))
        .examples_from_iter(examples.into_iter().flatten())
        .build()
}

fn document_content(schema: ContractSchema) -> Content {
    ContentBuilder::new().schema(Some(Ref::from_schema_name(schema.name))).build()
}

fn content_disposition() -> Header {
    HeaderBuilder::new().description(Some("Marks the response as a download and names the file.")).build()
}

fn no_new_events() -> ResponseBuilder {
    response_builder("`Last-Event-ID` is the stream's latest `result`. There are no newer events yet.")
}

/// A stream, described by the schema of one event; see [`contracts::stream`]. The schema has no type, because OpenAPI
/// 3.1 can't describe the items of a stream and the example is a whole stream.
fn event_stream() -> Content {
    let kinds = ["delta", "reset", "status", "reasoning", "result"];
    let schema = ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .property("id", text("Greater than the id of the previous event. Absent for `status` and `reasoning`."))
        .property("event", ObjectBuilder::new().schema_type(Type::String).enum_values(Some(kinds)))
        .property("data", text("JSON. Its schema depends on the kind of event."))
        .property("retry", ObjectBuilder::new().schema_type(Type::Integer))
        .description(Some(
        "Server-sent events (WHATWG). Events of the turn have an `id`, which increases across all connections \
        that read the turn's stream. Ignore events of unknown kinds.\n\n- `delta`: a `StreamDelta`, more text \
        of the answer. `Index` is the offset of the text in UTF-16 code units. The texts since the last \
        `reset` concatenate to the answer.\n- `reset`: a `StreamReset`. Discard the text received so far. \
        `Reason` says why.\n- `status`: a `StreamStatus`, the current phase of the turn. It has no `id` and is \
        not replayed on reconnection.\n- `reasoning`: a `StreamReasoning`, more of the model's reasoning, as far as \
        its provider shows it. It has no `id` and is not replayed on reconnection.\n- `result`: an `InvokeResult_AgentExecuteResponse` or an \
        `InvokeResult_Failure`, equal to the response without `Streaming`, errors included. It comes last. If \
        the turn waited for tool results, its stream continues after the `result`, with the answer or with the \
        error that ended the turn. An error of the request after the stream has begun is a `result` without an \
        `id`, since it is not an event of the turn.\n\nA comment is sent after 15 seconds of silence. If a \
        stream ends without a `result`, the turn continues: reconnect with `Last-Event-ID`.",
    ));
    ContentBuilder::new().schema(Some(schema)).example(examples::events()).build()
}

fn with_links(mut response: ResponseBuilder, links: &[Link]) -> ResponseBuilder {
    for link in links {
        let builder = LinkBuilder::new().operation_id(link.operation);
        let built =
            link.parameters.iter().fold(builder, |built, (name, value)| built.parameter(*name, *value));
        response = response.link(link.operation, built.build());
    }
    response
}

fn text(description: &str) -> Schema {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).into()
}

fn etag() -> Header {
    HeaderBuilder::new().description(Some("Entity tag of the body.")).build()
}

fn cache_control() -> Header {
    let description = "`immutable` for a turn that has ended, which never changes. Otherwise `no-cache`: revalidate with the \
        `ETag`.";
    HeaderBuilder::new().description(Some(description)).build()
}

fn location() -> Header {
    HeaderBuilder::new().description(Some("A presigned URL.")).build()
}

fn component(header: &str) -> Ref {
    Ref::new(format!("#/components/headers/{header}"))
}

/// The shared headers, for `components`.
pub(crate) fn headers() -> [(&'static str, Header); 4] {
    let text = |description: &str| HeaderBuilder::new().description(Some(description)).build();
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    [
        (
            REQUEST_ID,
            text("Id of the request in the service's logs. Absent if the gateway sent the response."),
        ),
        (GATEWAY_REQUEST_ID, text("Id of the request in the gateway's logs.")),
        (
            CORRELATION_ID,
            text(
                "Correlation id of the request, in all its log lines: the client's, or else one that the \
                gateway generated. Absent if the gateway sent the response.",
            ),
        ),
        (
            RETRY_AFTER,
            HeaderBuilder::new()
                .schema(Some(Schema::from(seconds)))
                .description(Some("Seconds to wait before retrying, if the service knows the time."))
                .build(),
        ),
    ]
}
