//! The OpenAPI 3.1 document of the HTTP API, generated from the contract.
//!
//! Simple types derive their schema where they are defined, and `contracts` has the schemas of its strings with rules
//! (feature `openapi`). This crate has the schemas of other types with hand-written parsing or serialization (the
//! envelope, the requests), and `operations`, the tables that define each operation's parameters, response and
//! errors. Statuses, descriptions and retry advice come from the catalogue of error codes, limits from
//! [`contracts::request::limits`], and examples from the sample events.
//! Deliberately absent: routing. A test calls each operation.

mod bodies;
mod citations;
mod closed_schemas;
mod document;
mod down_conversion;
mod envelopes;
mod examples;
mod nullability;
mod parameters;
mod responses;

pub use citations::{SerializeError, json, json_3_0, yaml};
pub use document::document;

use utoipa::openapi::{Object, ObjectBuilder, Schema, schema::AdditionalProperties};

use contracts::{
    AgentExecuteRequest, AgentExecuteResponse, ContentHash, ErrorCode, FileAddress,
    operations::{self, Body, ResponseKind},
    read::PayloadAnswer,
    schema::{NamedSchema, Schema as ContractSchema},
    stream,
};

/// Schemas of responses that no row names: those of several kinds of responses, of the stream, and of members whose
/// type is a string.
const OTHERS: [ContractSchema; 7] = [
    ContractSchema::of::<stream::Delta>("StreamDelta"),
    ContractSchema::of::<stream::Reset>("StreamReset"),
    ContractSchema::of::<stream::Status>("StreamStatus"),
    ContractSchema::of::<stream::Reasoning>("StreamReasoning"),
    ContractSchema::of::<ErrorCode>("ErrorCode"),
    ContractSchema::of::<ContentHash>("ContentHash"),
    ContractSchema::of::<FileAddress>("FileAddress"),
];

/// Returns every named schema of the contract, for `components`.
#[must_use]
pub fn schemas() -> Vec<NamedSchema> {
    let mut all = Vec::new();
    for operation in operations::all() {
        let (result, is_enveloped) = match operation.response {
            ResponseKind::Json(result) | ResponseKind::Cacheable(result) | ResponseKind::Report(result) => {
                (result, true)
            }
            ResponseKind::Turn => (ContractSchema::of::<AgentExecuteResponse>("AgentExecuteResponse"), true),
            ResponseKind::Link => (ContractSchema::of::<PayloadAnswer>("PayloadAnswer"), true),
            ResponseKind::Document(result) | ResponseKind::Lines(result) => (result, false),
            ResponseKind::Stream => continue,
        };
        if is_enveloped {
            all.push((envelopes::envelope_name(result.name), envelopes::success(result.name).into()));
        }
        (result.collect)(result.name, &mut all);
    }
    envelopes::failure(&mut all);
    for other in OTHERS {
        (other.collect)(other.name, &mut all);
    }
    // Responses omit absent members and never write null. Requests, below, may use null.
    all.iter_mut().for_each(|(_, schema)| nullability::remove_optional_null(schema));
    for body in operations::all().filter_map(|operation| operation.body) {
        let request = match body {
            Body::Json(request) => request,
            Body::Execute => ContractSchema::of::<AgentExecuteRequest>("AgentExecuteRequest"),
            // The others are parts of these, or responses.
            Body::ToolResults | Body::Exports | Body::Context => continue,
        };
        (request.collect)(request.name, &mut all);
    }
    all.push(("ContextContent".to_owned(), Schema::from(context_content()).into()));
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all.dedup_by(|(one, _), (other, _)| one == other);
    closed_schemas::close_response_kinds(&mut all);
    closed_schemas::require_user_turn_input(&mut all);
    all
}

/// The schema of a context's content. Its members depend on its kind, and have a schema of their own.
fn context_content() -> Object {
    let description = "An agent context, a conversation context or a mode.";
    let any = AdditionalProperties::FreeForm(true);
    ObjectBuilder::new().description(Some(description)).additional_properties(Some(any)).build()
}
