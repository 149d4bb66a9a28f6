//! Schemas of the wire types, for the OpenAPI 3.1 document (feature `openapi`).
//!
//! Plain shapes derive their schema where they are defined. Here are the ones that serde is told
//! about by hand: strings with a rule, the envelope, and the requests, which are parsed by tables.
//! Deliberately absent: routes; the document is assembled from these where the routes are known.

mod envelope;
mod request;
mod strings;

pub use envelope::InvokeResultSchema;
pub use request::AgentExecuteRequestSchema;

use utoipa::openapi::{RefOr, Schema};

/// Every named schema of the contract, for `components`.
#[must_use]
pub fn schemas() -> Vec<(String, RefOr<Schema>)> {
    use utoipa::ToSchema;

    use crate::{
        AgentExecuteResponse,
        read::{
            AgentSession, AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, ListResponse,
            PayloadLink,
        },
    };

    fn add<T: ToSchema>(all: &mut Vec<(String, RefOr<Schema>)>) {
        all.push((T::name().into_owned(), T::schema()));
        T::schemas(all);
    }

    let mut all = Vec::new();
    add::<AgentExecuteRequestSchema>(&mut all);
    add::<InvokeResultSchema<AgentExecuteResponse>>(&mut all);
    add::<InvokeResultSchema<AgentSession>>(&mut all);
    add::<InvokeResultSchema<ListResponse<AgentSessionSummary>>>(&mut all);
    add::<InvokeResultSchema<AgentSessionTurn>>(&mut all);
    add::<InvokeResultSchema<AgentSessionTurnSummary>>(&mut all);
    add::<InvokeResultSchema<PayloadLink>>(&mut all);
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all.dedup_by(|(one, _), (other, _)| one == other);
    all
}
