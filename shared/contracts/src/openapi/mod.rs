//! The OpenAPI 3.1 document of the HTTP surface, generated from the contract (feature `openapi`).
//!
//! Plain shapes derive their schema where they are defined. Here are the shapes whose reading or writing is
//! written by hand (strings with a rule, the envelope, the requests), and `operations.rs`, the table from
//! which everything else follows: what an operation takes, what it answers and how it can fail.
//! Statuses, descriptions and retries come from the catalogue of error codes, limits from
//! [`crate::request::limits`], examples from the sample events. Deliberately absent: routing; a test calls
//! each operation.

mod absent;
mod answers;
mod bodies;
mod bounds;
mod cited;
mod closed;
mod document;
mod error_groups;
mod examples;
mod operations;
mod outcomes;
mod parameters;
mod plain;
mod scenarios;
mod strings;

pub use cited::{Unwritable, json, plain_json, yaml};
pub use document::document;
pub use scenarios::AgentExecuteRequestSchema;

use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

use crate::{
    AgentExecuteResponse, ContentHash, ErrorCode, FileAddress,
    read::{
        AgentSession, AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, ExportLine,
        FoundSession, ListResponse, ModeChange, PayloadAnswer, PurgeReport, SessionDeletion, SessionExport,
        SessionImport, TurnFeedback, TurnStep,
    },
    stream,
};

/// A schema and its name in `components`.
type Named = (String, RefOr<Schema>);

/// Every named schema of the contract, for `components`.
#[must_use]
pub fn schemas() -> Vec<(String, RefOr<Schema>)> {
    fn answer<T: ToSchema>(name: &str, all: &mut Vec<Named>) {
        all.push((outcomes::around(name), outcomes::success(name).into()));
        named::<T>(name, all);
    }

    fn named<T: ToSchema>(name: &str, all: &mut Vec<Named>) {
        all.push((name.to_owned(), T::schema()));
        T::schemas(all);
    }

    let mut all = Vec::new();
    answer::<AgentExecuteResponse>("AgentExecuteResponse", &mut all);
    answer::<AgentSession>("AgentSession", &mut all);
    // The list of sessions came first, so the name of its schema need not say of what.
    answer::<ListResponse<AgentSessionSummary>>("ListResponse", &mut all);
    answer::<AgentSessionSummary>("AgentSessionSummary", &mut all);
    answer::<ListResponse<ModeChange>>("ModeHistory", &mut all);
    named::<ModeChange>("ModeChange", &mut all);
    answer::<ListResponse<AgentSessionTurnSummary>>("TurnList", &mut all);
    answer::<AgentSessionTurn>("AgentSessionTurn", &mut all);
    answer::<AgentSessionTurnSummary>("AgentSessionTurnSummary", &mut all);
    answer::<ListResponse<TurnStep>>("StepList", &mut all);
    named::<TurnStep>("TurnStep", &mut all);
    answer::<TurnFeedback>("TurnFeedback", &mut all);
    answer::<ListResponse<TurnFeedback>>("FeedbackList", &mut all);
    answer::<ListResponse<FoundSession>>("SearchResults", &mut all);
    named::<FoundSession>("FoundSession", &mut all);
    answer::<PayloadAnswer>("PayloadAnswer", &mut all);
    answer::<SessionImport>("SessionImport", &mut all);
    named::<SessionExport>("SessionExport", &mut all);
    named::<ExportLine>("ExportLine", &mut all);
    named::<stream::Delta>("StreamDelta", &mut all);
    named::<stream::Reset>("StreamReset", &mut all);
    named::<stream::Status>("StreamStatus", &mut all);
    answer::<SessionDeletion>("SessionDeletion", &mut all);
    answer::<PurgeReport>("PurgeReport", &mut all);
    outcomes::failure(&mut all);
    named::<ErrorCode>("ErrorCode", &mut all);
    named::<ContentHash>("ContentHash", &mut all);
    named::<FileAddress>("FileAddress", &mut all);
    // AGN-033 §3.5: what we write is absent, never null. Requests, below, may say null.
    all.iter_mut().for_each(|(_, schema)| absent::never_null(schema));

    named::<AgentExecuteRequestSchema>("AgentExecuteRequest", &mut all);
    named::<scenarios::RerunRequest>("RerunRequest", &mut all);
    named::<scenarios::ForkRequest>("ForkRequest", &mut all);
    named::<scenarios::SessionEdit>("SessionEdit", &mut all);
    named::<scenarios::FeedbackRequest>("FeedbackRequest", &mut all);
    bounds::set(&mut all);
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all.dedup_by(|(one, _), (other, _)| one == other);
    closed::kinds(&mut all);
    closed::some_input(&mut all);
    all
}

/// The operations' ids and the codes that each may answer with.
#[must_use]
pub fn codes() -> Vec<(&'static str, Vec<ErrorCode>)> {
    let of = |row: &operations::Row| error_groups::by_status(row.errors).into_values().flatten().collect();
    operations::OPERATIONS.iter().map(|row| (row.id, of(row))).collect()
}
