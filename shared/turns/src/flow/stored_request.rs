//! The stored requests that started turns.
//!
//! A small request is part of the request item until its turn becomes terminal. Its object is created before that, so a
//! terminal turn always has one.

use bytes::Bytes;
use contracts::request::UserTurn;
use protocol::{
    detail::RequestDetail,
    id::SessionKey,
    payload::{Kind, MAX_INLINE_REQUEST_BYTES, Payload},
    session::SolutionContext,
    turn::Turn,
};

use crate::ports::{PayloadReads, Payloads, Reads, Unavailable};

/// The canonical form of a request, at the place where a start stores it.
pub(crate) enum RequestBody {
    /// It becomes part of the request item.
    Inline(String),
    /// It becomes an object before the turn starts.
    Object(Bytes),
}

impl RequestBody {
    /// Chooses the place by the size of the request.
    pub(crate) fn new(request: &UserTurn) -> Self {
        let canonical = request.canonical_json();
        if canonical.len() > MAX_INLINE_REQUEST_BYTES {
            return Self::Object(canonical.into());
        }
        match String::from_utf8(canonical) {
            Ok(json) => Self::Inline(json),
            Err(error) => Self::Object(error.into_bytes().into()),
        }
    }
}

/// Loads the request that started a turn, as stored.
pub(crate) async fn load(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<UserTurn, Unavailable> {
    read(store, payloads, &payload(turn)).await
}

/// Returns the object of a turn's request.
pub(crate) fn payload(turn: &Turn) -> Payload {
    Payload { turn: turn.key.clone(), kind: Kind::Instruction(turn.stored_request()) }
}

/// Creates the object of a request that is still inline. Any number of writers create the same.
pub(crate) async fn publish(
    payloads: &impl Payloads,
    object: &Payload,
    request: Option<&RequestDetail>,
) -> Result<(), Unavailable> {
    match request.and_then(|request| request.inline_json.clone()) {
        Some(json) => payloads.put(object, json.into()).await,
        None => Ok(()),
    }
}

/// Does the same for a request item that isn't read yet. Other payloads are ignored.
pub(crate) async fn load_and_publish(
    store: &impl Reads,
    payloads: &impl Payloads,
    object: &Payload,
) -> Result<(), Unavailable> {
    let Kind::Instruction(_) = object.kind else { return Ok(()) };
    let request = store.request_detail(&object.turn).await?;
    publish(payloads, object, request.as_ref()).await
}

/// Reads the object, which almost every turn that is read has, or else the inline copy.
async fn read(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    payload: &Payload,
) -> Result<UserTurn, Unavailable> {
    let missing = |source| Unavailable { what: "a stored request", source };
    let stored = match payloads.get(payload).await? {
        Some(object) => Some(object),
        None => store
            .request_detail(&payload.turn)
            .await?
            .and_then(|request| request.inline_json)
            .map(Bytes::from),
    };
    let stored = stored.ok_or_else(|| missing("it is missing".into()))?;
    UserTurn::from_canonical(&stored).map_err(|_| missing("it can't be read".into()))
}

/// Loads the text of a solution context from the request that brought it.
pub(crate) async fn load_solution(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
    named: SolutionContext,
) -> Result<String, Unavailable> {
    let kind = Kind::Instruction(named.stored_request());
    let own = &turn.key.session;
    let session =
        SessionKey { org: own.org.clone(), session: named.session.unwrap_or_else(|| own.session.clone()) };
    let payload = Payload { turn: session.turn(named.turn), kind };
    let text = read(store, payloads, &payload).await?.solution_context_text;
    text.ok_or_else(|| Unavailable { what: "the solution context", source: "it is missing".into() })
}
