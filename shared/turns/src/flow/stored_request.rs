//! The stored requests that started turns.

use contracts::request::UserTurn;
use protocol::{
    id::SessionKey,
    payload::{Kind, Payload},
    session::SolutionContext,
    turn::Turn,
};

use crate::ports::{PayloadReads, Unavailable};

/// Loads the request that started a turn, as stored.
pub(crate) async fn load(payloads: &impl PayloadReads, turn: &Turn) -> Result<UserTurn, Unavailable> {
    let kind = Kind::Instruction(turn.stored_request());
    read(payloads, &Payload { turn: turn.key.clone(), kind }).await
}

async fn read(payloads: &impl PayloadReads, payload: &Payload) -> Result<UserTurn, Unavailable> {
    let missing = |source| Unavailable { what: "a stored request", source };
    let stored = payloads.get(payload).await?.ok_or_else(|| missing("it is missing".into()))?;
    UserTurn::from_canonical(&stored).map_err(|_| missing("it can't be read".into()))
}

/// Loads the text of a solution context from the request that brought it.
pub(crate) async fn load_solution(
    payloads: &impl PayloadReads,
    turn: &Turn,
    named: SolutionContext,
) -> Result<String, Unavailable> {
    let kind = Kind::Instruction(named.stored_request());
    let own = &turn.key.session;
    let session =
        SessionKey { org: own.org.clone(), session: named.session.unwrap_or_else(|| own.session.clone()) };
    let payload = Payload { turn: session.turn(named.turn), kind };
    let text = read(payloads, &payload).await?.solution_context_text;
    text.ok_or_else(|| Unavailable { what: "the solution context", source: "it is missing".into() })
}
