//! The OpenAPI 3.1 document of the HTTP API, generated from the contract.
//!
//! Simple types derive their schema where they are defined, and `contracts` has the schemas of its strings with rules
//! (feature `openapi`). This crate has the schemas of other types with hand-written parsing or serialization (the
//! envelope, the requests), and `operations`, the tables that define each operation's parameters, response and
//! errors. Statuses, descriptions and retry advice come from the catalogue of error codes, limits from
//! [`contracts::request::limits`], and examples from the sample events.
//! Deliberately absent: routing. A test calls each operation.

mod bodies;
mod bounds;
mod citations;
mod closed_schemas;
mod document;
mod down_conversion;
mod envelopes;
mod error_groups;
mod examples;
mod nullability;
mod operations;
mod parameters;
mod request_schemas;
mod responses;

pub use citations::{SerializeError, json, json_3_0, yaml};
pub use document::document;
pub use request_schemas::AgentExecuteRequestSchema;

use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, RefOr, Schema, schema::AdditionalProperties},
};

use contracts::{
    AgentExecuteResponse, BudgetUseReport, ContentHash, ErrorCode, FileAddress,
    read::{
        AgentSession, AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, Context,
        ContextVersion, ExportLine, FoundSession, ListResponse, ModeChange, PayloadAnswer, PurgeReport,
        SessionDeletion, SessionExport, SessionImport, TurnFeedback, TurnRecords, TurnStep, UsageGroup,
        UsageReport,
    },
    request::{Budgets, OrgSettings},
    stream,
};

/// A schema and its name in `components`.
type NamedSchema = (String, RefOr<Schema>);

/// Returns every named schema of the contract, for `components`.
#[must_use]
pub fn schemas() -> Vec<(String, RefOr<Schema>)> {
    fn enveloped<T: ToSchema>(name: &str, all: &mut Vec<NamedSchema>) {
        all.push((envelopes::envelope_name(name), envelopes::success(name).into()));
        named::<T>(name, all);
    }

    fn named<T: ToSchema>(name: &str, all: &mut Vec<NamedSchema>) {
        all.push((name.to_owned(), T::schema()));
        T::schemas(all);
    }

    let mut all = Vec::new();
    enveloped::<AgentExecuteResponse>("AgentExecuteResponse", &mut all);
    enveloped::<AgentSession>("AgentSession", &mut all);
    // The list of sessions existed first, so the name of its schema doesn't mention sessions.
    enveloped::<ListResponse<AgentSessionSummary>>("ListResponse", &mut all);
    enveloped::<AgentSessionSummary>("AgentSessionSummary", &mut all);
    enveloped::<ListResponse<ModeChange>>("ModeHistory", &mut all);
    named::<ModeChange>("ModeChange", &mut all);
    enveloped::<ListResponse<AgentSessionTurnSummary>>("TurnList", &mut all);
    enveloped::<AgentSessionTurn>("AgentSessionTurn", &mut all);
    enveloped::<AgentSessionTurnSummary>("AgentSessionTurnSummary", &mut all);
    enveloped::<ListResponse<TurnStep>>("StepList", &mut all);
    named::<TurnStep>("TurnStep", &mut all);
    enveloped::<TurnRecords>("TurnRecords", &mut all);
    enveloped::<TurnFeedback>("TurnFeedback", &mut all);
    enveloped::<ListResponse<TurnFeedback>>("FeedbackList", &mut all);
    enveloped::<ListResponse<FoundSession>>("SearchResults", &mut all);
    named::<FoundSession>("FoundSession", &mut all);
    enveloped::<PayloadAnswer>("PayloadAnswer", &mut all);
    enveloped::<SessionImport>("SessionImport", &mut all);
    named::<SessionExport>("SessionExport", &mut all);
    named::<ExportLine>("ExportLine", &mut all);
    named::<stream::Delta>("StreamDelta", &mut all);
    named::<stream::Reset>("StreamReset", &mut all);
    named::<stream::Status>("StreamStatus", &mut all);
    enveloped::<SessionDeletion>("SessionDeletion", &mut all);
    enveloped::<PurgeReport>("PurgeReport", &mut all);
    enveloped::<UsageReport>("UsageReport", &mut all);
    enveloped::<Budgets>("Budgets", &mut all);
    enveloped::<BudgetUseReport>("BudgetUseReport", &mut all);
    enveloped::<OrgSettings>("OrgSettings", &mut all);
    named::<UsageGroup>("UsageGroup", &mut all);
    enveloped::<Context>("Context", &mut all);
    enveloped::<ListResponse<Context>>("ContextList", &mut all);
    enveloped::<ContextVersion>("ContextVersion", &mut all);
    enveloped::<ListResponse<ContextVersion>>("ContextVersionList", &mut all);
    envelopes::failure(&mut all);
    named::<ErrorCode>("ErrorCode", &mut all);
    named::<ContentHash>("ContentHash", &mut all);
    named::<FileAddress>("FileAddress", &mut all);
    // Responses omit absent members and never write null. Requests, below, may use null.
    all.iter_mut().for_each(|(_, schema)| nullability::remove_optional_null(schema));

    named::<AgentExecuteRequestSchema>("AgentExecuteRequest", &mut all);
    named::<request_schemas::RerunRequest>("RerunRequest", &mut all);
    named::<request_schemas::ForkRequest>("ForkRequest", &mut all);
    named::<request_schemas::SessionEdit>("SessionEdit", &mut all);
    named::<request_schemas::FeedbackRequest>("FeedbackRequest", &mut all);
    named::<request_schemas::RolloutRequest>("RolloutRequest", &mut all);
    named::<request_schemas::RollbackRequest>("RollbackRequest", &mut all);
    all.push(("ContextContent".to_owned(), Schema::from(context_content()).into()));
    bounds::apply(&mut all);
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

/// Returns the ids of the operations and the error codes of each.
#[must_use]
pub fn error_codes() -> Vec<(&'static str, Vec<ErrorCode>)> {
    let of = |row: &operations::Row| error_groups::by_status(row.errors).into_values().flatten().collect();
    operations::all().map(|row| (row.id, of(row))).collect()
}
