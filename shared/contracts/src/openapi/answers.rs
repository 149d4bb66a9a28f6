//! What an operation answers: its success, and a response per status that follows from its error codes.

use utoipa::openapi::{
    Content, ContentBuilder, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Responses,
    ResponsesBuilder, Schema,
    header::Header,
    link::LinkBuilder,
    schema::{SchemaType, Type},
};

use super::{
    error_groups::{self, GATEWAY},
    examples,
    operations::{Answers, Lead, Row},
    outcomes,
};
use crate::{error::ErrorCode, stream::MEDIA_TYPE};

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/jsonl";
const TEXT: &str = "text/plain";

/// The headers that several responses share, by their names in `components`.
const REQUEST_ID: &str = "RequestId";
const GATEWAY_REQUEST_ID: &str = "GatewayRequestId";
const CORRELATION_ID: &str = "CorrelationId";
const RETRY_AFTER: &str = "RetryAfter";

pub(super) fn responses(row: &Row) -> Responses {
    let mut all = successes(row);
    for (status, codes) in error_groups::by_status(row.errors) {
        all = all.response(status.to_string(), failure(row, &codes));
    }
    all.build()
}

fn successes(row: &Row) -> ResponsesBuilder {
    let all = ResponsesBuilder::new();
    let ok = with_leads(identified("The result."), row.leads_to);
    match row.answers {
        Answers::Json(result) => all.response("200", ok.content(JSON, enveloped(result, None))),
        Answers::Kept(result) => {
            let kept = |response: ResponseBuilder| {
                response.header("ETag", tag()).header("Cache-Control", how_long())
            };
            all.response("200", kept(ok.content(JSON, enveloped(result, None))))
                .response("304", kept(identified("What the client has, by `If-None-Match`, still holds.")))
        }
        Answers::Turn => {
            let json = enveloped("AgentExecuteResponse", Some(examples::answers()));
            let text = text("The answer's `PrimaryOutputText` (DD-001).");
            let ok =
                ok.content(JSON, json).content(MEDIA_TYPE, events()).content(TEXT, Content::new(Some(text)));
            all.response("200", ok)
        }
        Answers::Document(schema) => {
            let document = identified("The document.").header("Content-Disposition", download());
            all.response("200", document.content(JSON, bare(schema)))
        }
        Answers::Lines(schema) => {
            let lines = identified("The documents, and the end.").header("Content-Disposition", download());
            all.response("200", lines.content(JSON_LINES, bare(schema)))
        }
        Answers::Stream => all
            .response("200", identified("The events.").content(MEDIA_TYPE, events()))
            .response("204", seen()),
        Answers::Link => {
            let kept = |response: ResponseBuilder| {
                response.header("ETag", tag()).header("Cache-Control", how_long())
            };
            let link = kept(identified(
                "The payload itself with `inline`; else the link, where `Accept` names `application/json`. A link lives \
                 five minutes and has no `ETag`.",
            ));
            let elsewhere = identified(
                "The payload is at `Location` for five minutes. Follow it without the Authorization header: \
                 the link is signed and takes no other.",
            );
            all.response("200", link.content(JSON, enveloped("PayloadAnswer", Some(examples::payloads()))))
                .response("304", kept(identified("What the client has, by `If-None-Match`, still holds.")))
                .response("302", elsewhere.header("Location", location()))
        }
    }
}

/// A failure with one code is a component that operations share.
fn failure(row: &Row, codes: &[ErrorCode]) -> RefOr<Response> {
    let as_text = matches!(row.answers, Answers::Turn) && !codes.iter().all(|code| GATEWAY.contains(code));
    match codes {
        [only] if !as_text => Ref::from_response_name(only.as_str()).into(),
        _ => of_codes(codes, as_text).into(),
    }
}

/// The responses that operations share.
pub(super) fn shared() -> impl Iterator<Item = (&'static str, Response)> {
    ErrorCode::ALL.iter().map(|code| (code.as_str(), of_codes(&[*code], false)))
}

fn of_codes(codes: &[ErrorCode], as_text: bool) -> Response {
    let mut response = identified(&error_groups::description(codes))
        .content(JSON, Content::new(Some(outcomes::failure_of(codes))));
    if as_text {
        let line = text("The errors on one line: `Code: message`, joined by `; ` (DD-001).");
        response = response.content(TEXT, Content::new(Some(line)));
    }
    // The provider's own wish is handed on.
    let upstream = [ErrorCode::ModelRateLimited, ErrorCode::ModelUnavailable];
    if codes.iter().any(|code| code.retryable() || upstream.contains(code)) {
        response = response.header_ref("Retry-After", component(RETRY_AFTER));
    }
    if codes.contains(&ErrorCode::Unauthenticated) {
        let scheme = HeaderBuilder::new().description(Some("`Bearer`, where the gateway refused."));
        response = response.header("WWW-Authenticate", scheme.build());
    }
    response.build()
}

fn identified(description: &str) -> ResponseBuilder {
    ResponseBuilder::new()
        .description(description)
        .header_ref("X-Request-Id", component(REQUEST_ID))
        .header_ref("X-Amzn-RequestId", component(GATEWAY_REQUEST_ID))
        .header_ref("X-Correlation-ID", component(CORRELATION_ID))
}

fn enveloped(result: &str, examples: Option<examples::Examples>) -> Content {
    ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(outcomes::around(result))))
        .examples_from_iter(examples.into_iter().flatten())
        .build()
}

fn bare(schema: &str) -> Content {
    ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).build()
}

fn download() -> Header {
    HeaderBuilder::new().description(Some("A download, and what it is called.")).build()
}

fn seen() -> ResponseBuilder {
    identified("`Last-Event-ID` names the stream's latest `result`: there is nothing more yet.")
}

/// A stream, described by one of its events, as readers of event streams have it; see [`crate::stream`]. The schema
/// states no type, since OpenAPI 3.1 has no word for the items of a stream and the example is a whole one.
fn events() -> Content {
    let kinds = ["delta", "reset", "status", "result"];
    let schema = ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .property("id", text("Greater than that of the event before; absent of a `status`."))
        .property("event", ObjectBuilder::new().schema_type(Type::String).enum_values(Some(kinds)))
        .property("data", text("JSON, by the kind of the event."))
        .property("retry", ObjectBuilder::new().schema_type(Type::Integer))
        .description(Some(
        "Server-sent events (WHATWG). Those that the answer is made of have an `id` that is greater than the one \
         before, over every connection that the turn's stream is read from. An event of another kind is to be passed \
         over.\n\n\
         - `delta`: a `StreamDelta`, more of the answer. `Index` is where the text begins, in UTF-16 code \
         units; the texts since the last `reset` concatenate to the answer.\n\
         - `reset`: a `StreamReset`. What was shown so far is not the answer, and `Reason` says why.\n\
         - `status`: a `StreamStatus`, what the turn is at now. It has no `id`, and a connection that comes back is \
         not told it again.\n\
         - `result`: an `InvokeResult_AgentExecuteResponse` or an `InvokeResult_Failure`, the very one that the request without `Streaming` is answered with, errors \
         included. It comes last. A turn that awaited tool results goes on after it: with the results, or with the \
         error of its end. A refusal that comes when the stream has begun is a `result` without an `id`, since it is \
         no event of the turn.\n\n\
         A comment breaks a silence of 15 seconds. A stream that ends without a `result` is not over: its client \
         comes back with `Last-Event-ID`.",
    ));
    ContentBuilder::new().schema(Some(schema)).example(examples::events()).build()
}

fn with_leads(mut response: ResponseBuilder, leads: &[Lead]) -> ResponseBuilder {
    for lead in leads {
        let link = lead.with.iter().fold(LinkBuilder::new().operation_id(lead.to), |link, (name, value)| {
            link.parameter(*name, *value)
        });
        response = response.link(lead.to, link.build());
    }
    response
}

fn text(description: &str) -> Schema {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).into()
}

fn tag() -> Header {
    HeaderBuilder::new().description(Some("Of this body. It holds as long as the body does.")).build()
}

fn how_long() -> Header {
    let told =
        "`immutable` for a turn that is over: it never changes. Else `no-cache`: ask again, with the `ETag`.";
    HeaderBuilder::new().description(Some(told)).build()
}

fn location() -> Header {
    HeaderBuilder::new().description(Some("A presigned URL.")).build()
}

fn component(header: &str) -> Ref {
    Ref::new(format!("#/components/headers/{header}"))
}

/// The shared headers, for `components`.
pub(super) fn headers() -> [(&'static str, Header); 4] {
    let text = |description: &str| HeaderBuilder::new().description(Some(description)).build();
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    [
        (
            REQUEST_ID,
            text("Names the request in the service's logs. Absent where the gateway answered itself."),
        ),
        (GATEWAY_REQUEST_ID, text("Names the request in the gateway's logs.")),
        (
            CORRELATION_ID,
            text(
                "What the request is called in every log line about it: what its client called it, or else the \
                 gateway. Absent where the gateway answered itself.",
            ),
        ),
        (
            RETRY_AFTER,
            HeaderBuilder::new()
                .schema(Some(Schema::from(seconds)))
                .description(Some(
                    "In how many seconds to send the same request again, where the service can tell.",
                ))
                .build(),
        ),
    ]
}
