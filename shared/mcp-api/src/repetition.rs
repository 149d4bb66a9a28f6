//! Ids of turns that follow from the name of their call, so that a repeated call finds its turn, and a cancellation too.

use contracts::id::{SessionId, TurnId};
use histories::TurnRound;
use runtime::id_key::IdKey;
use serde_json::Value;

/// Separates these ids from others under the same key.
const PURPOSE: &[u8] = b"mcp";

/// The name of a request, unique among the requests of its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestName {
    kind: &'static str,
    scope: String,
    name: String,
}

impl RequestName {
    /// Creates the name that a client gave.
    pub(crate) fn key(key: &str) -> Self {
        Self { kind: "key", scope: String::new(), name: key.to_owned() }
    }

    /// Creates the name of a request by its id, which the protocol makes unique within a session.
    pub(crate) fn in_session(session: &str, id: &Value) -> Self {
        Self { kind: "id", scope: session.to_owned(), name: id.to_string() }
    }

    /// Returns the turn of a call with this name by a user: in this session, or else in one that the call begins.
    #[must_use]
    pub fn turn(
        &self,
        key: &IdKey,
        (org, user): (&str, &str),
        session: Option<&SessionId>,
    ) -> Option<TurnRound> {
        let Self { kind, scope, name } = self;
        let parts =
            [PURPOSE, org.as_bytes(), user.as_bytes(), kind.as_bytes(), scope.as_bytes(), name.as_bytes()];
        let derived = key.derive(&parts);
        let (first, second) = derived.split_at_checked(32)?;
        let session = session.cloned().or_else(|| SessionId::new(first).ok())?;
        Some(TurnRound::first(session, TurnId::new(second).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use runtime::id_key::IdKeys;
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_follow_from_user_and_name() {
        let key = IdKeys::from_keys("k").unwrap().current;
        let turn = |name: &RequestName, user| name.turn(&key, ("acme", user), None).unwrap();
        let names = [
            RequestName::key("1"),
            RequestName::in_session("s", &json!(1)),
            RequestName::in_session("s", &json!("1")),
            RequestName::in_session("t", &json!(1)),
        ];
        for (n, name) in names.iter().enumerate() {
            assert_eq!(turn(name, "ada"), turn(name, "ada"));
            assert_ne!(turn(name, "ada"), turn(name, "eve"));
            assert!(names.iter().skip(n + 1).all(|other| turn(other, "ada") != turn(name, "ada")), "{n}");
        }
        let session = SessionId::new("mine").unwrap();
        let continued = names[0].turn(&key, ("acme", "ada"), Some(&session)).unwrap();
        assert_eq!((continued.session, continued.turn), (session, turn(&names[0], "ada").turn));
    }
}
