//! Ids of sessions, turns, messages and calls.
//!
//! The session of a thread derives from its id, its user and a key of the deployment, so a colleague's thread of the same
//! name is another session. The turn of a run derives from its session and its id, so a repeated run finds its turn.

use contracts::id::{SessionId, TurnId};
use histories::TurnRound;
use protocol::Caller;
use runtime::id_key::IdKey;

const MESSAGE: &str = "msg_";
/// Stands between the turn and its own id of a call.
const CALL: char = ':';

/// Returns the id of a thread's session. `ordinal` counts the sessions that it may get.
#[must_use]
pub fn session(key: &IdKey, caller: &Caller, thread: &str, ordinal: u32) -> Option<SessionId> {
    let (org, user) = (caller.org.as_str().as_bytes(), caller.user.id.as_str().as_bytes());
    let id = key.derive(&[b"ag-ui-thread", org, user, thread.as_bytes(), &ordinal.to_be_bytes()]);
    SessionId::new(first_half(&id)).ok()
}

/// Returns the id of a run's turn.
#[must_use]
pub fn turn(key: &IdKey, session: &SessionId, run: &str) -> Option<TurnId> {
    let id = key.derive(&[b"ag-ui-run", session.as_str().as_bytes(), run.as_bytes()]);
    TurnId::new(first_half(&id)).ok()
}

fn first_half(id: &str) -> String {
    id.chars().take(32).collect()
}

/// Returns the id of a message by its position in a round of a turn.
#[must_use]
pub fn message(round: &TurnRound, position: u64) -> String {
    format!("{MESSAGE}{}", round.encode(Some(position)))
}

/// Returns the turn and the round of a message.
#[must_use]
pub fn turn_of_message(id: &str) -> Option<TurnRound> {
    TurnRound::decode(id.strip_prefix(MESSAGE)?).map(|(turn, _)| turn)
}

/// Returns the id of a call. The service's own id is unique in its turn alone.
#[must_use]
pub fn call(turn: &TurnId, call: &str) -> String {
    format!("{turn}{CALL}{call}")
}

/// Returns the service's id of a turn's call.
#[must_use]
pub fn call_of<'a>(turn: &TurnId, id: &'a str) -> Option<&'a str> {
    id.strip_prefix(turn.as_str())?.strip_prefix(CALL)
}

/// Returns the id of the message with a call's result.
#[must_use]
pub fn result(call: &str) -> String {
    format!("{call}{CALL}result")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_messages_and_calls_round_trip() {
        let session = SessionId::new("s~1.x").unwrap();
        let round = TurnRound { session, turn: TurnId::new("t-_").unwrap(), round: 3 };
        assert_eq!(turn_of_message(&message(&round, 2)), Some(round.clone()));
        assert_ne!(message(&round, 1), message(&round, 2));
        assert_eq!(call_of(&round.turn, &call(&round.turn, "call:1")), Some("call:1"));
        for id in ["", "msg_", "msg_x", "t-_", "t-_call"] {
            assert_eq!((turn_of_message(id), call_of(&round.turn, id)), (None, None), "{id}");
        }
    }
}
