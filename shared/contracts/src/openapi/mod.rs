//! Schemas of the wire types, for the OpenAPI 3.1 document (feature `openapi`).
//!
//! Plain shapes derive their schema where they are defined. Here are the ones that serde is told
//! about by hand: strings with a rule, the envelope, and the requests, which are parsed by tables.
//! Deliberately absent: routes; the document is assembled from these where the routes are known.

mod absent;
mod envelope;
mod request;
mod strings;

pub use envelope::InvokeResultSchema;
pub use request::AgentExecuteRequestSchema;

use utoipa::openapi::{RefOr, Schema};

/// Every named schema of the contract, for `components`.
#[must_use]
pub fn schemas() -> Vec<(String, RefOr<Schema>)> {
    use utoipa::{PartialSchema, ToSchema};

    use crate::{
        AgentExecuteResponse,
        read::{
            AgentSession, AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, ListResponse,
            PayloadLink,
        },
    };

    fn answer<T: ToSchema>(name: &str, all: &mut Vec<(String, RefOr<Schema>)>) {
        all.push((format!("InvokeResult_{name}"), InvokeResultSchema::<T>::schema()));
        InvokeResultSchema::<T>::schemas(all);
        all.push((name.to_owned(), T::schema()));
        T::schemas(all);
    }

    let mut all = Vec::new();
    answer::<AgentExecuteResponse>("AgentExecuteResponse", &mut all);
    answer::<AgentSession>("AgentSession", &mut all);
    // It is the one list there is, so its schema needs no name of its own for what it lists.
    answer::<ListResponse<AgentSessionSummary>>("ListResponse", &mut all);
    all.push((AgentSessionSummary::name().into_owned(), AgentSessionSummary::schema()));
    AgentSessionSummary::schemas(&mut all);
    answer::<AgentSessionTurn>("AgentSessionTurn", &mut all);
    answer::<AgentSessionTurnSummary>("AgentSessionTurnSummary", &mut all);
    answer::<PayloadLink>("PayloadLink", &mut all);
    // AGN-033 §3.5: what we write is absent, never null. Requests, below, may say null.
    all.iter_mut().for_each(|(_, schema)| absent::never_null(schema));

    all.push((AgentExecuteRequestSchema::name().into_owned(), AgentExecuteRequestSchema::schema()));
    AgentExecuteRequestSchema::schemas(&mut all);
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all.dedup_by(|(one, _), (other, _)| one == other);
    all
}
