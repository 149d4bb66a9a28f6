//! Ids of messages and calls. They encode session and turn, so no table maps them.
//!
//! An id grants nothing: whoever reads a turn by it is checked like any other reader. Ids have letters, digits, `-` and `_`
//! alone, as the protocol demands.

use histories::TurnRound;

const MESSAGE: &str = "msg_";
const CALL: &str = "toolu_";

/// Returns the id of a message.
#[must_use]
pub fn message(round: &TurnRound) -> String {
    format!("{MESSAGE}{}", round.encode(None))
}

/// Returns the id of a call, by its position among the calls of a message.
#[must_use]
pub fn call(round: &TurnRound, position: usize) -> String {
    format!("{CALL}{}", round.encode(u64::try_from(position).ok()))
}

/// Returns the turn of a message.
#[must_use]
pub fn turn_of_message(id: &str) -> Option<TurnRound> {
    TurnRound::decode(id.strip_prefix(MESSAGE)?).map(|(turn, _)| turn)
}

/// Returns the turn of a call.
#[must_use]
pub fn turn_of_call(id: &str) -> Option<TurnRound> {
    TurnRound::decode(id.strip_prefix(CALL)?).map(|(turn, _)| turn)
}

#[cfg(test)]
mod tests {
    use contracts::id::{SessionId, TurnId};

    use super::*;

    #[test]
    fn ids_round_trip_and_have_the_grammar_of_the_protocol() {
        let turn = TurnId::new("t-_").unwrap();
        let round = TurnRound { session: SessionId::new("s~1.x").unwrap(), turn, round: 3 };
        assert_eq!(turn_of_message(&message(&round)), Some(round.clone()));
        assert_eq!(turn_of_call(&call(&round, 2)), Some(round.clone()));
        assert_ne!(call(&round, 1), call(&round, 2));
        let is_valid = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        assert!(is_valid(&message(&round)) && is_valid(&call(&round, 7)));
        for id in ["", "msg_", "msg_01XFDUDYJgAACzvnptvVoYEL", "toolu_01D7FLrfh4GYq7yT1ULFeyMV", "call_1"] {
            assert_eq!((turn_of_message(id), turn_of_call(id)), (None, None), "{id}");
        }
    }
}
