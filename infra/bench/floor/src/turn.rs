//! A turn: its ids, its keys and its request.

use lambda_runtime::Error;
use serde::Deserialize;
use uuid::Uuid;

/// The event of a REST API, as far as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    body: String,
    request_context: RequestContext,
}

#[derive(Debug, Deserialize)]
struct RequestContext {
    authorizer: Authorizer,
}

#[derive(Debug, Deserialize)]
struct Authorizer {
    claims: Claims,
}

#[derive(Debug, Deserialize)]
struct Claims {
    #[serde(rename = "custom:org")]
    org: String,
    #[serde(rename = "sub")]
    user: String,
}

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body {
    session_id: String,
    turn_id: String,
    instruction: String,
    #[serde(default)]
    streaming: bool,
}

/// A turn that was requested.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) id: TurnId,
    pub(crate) user: String,
    pub(crate) instruction: String,
    pub(crate) is_streamed: bool,
    /// The request as it is stored.
    pub(crate) request: String,
    /// The id of the attempt that works on it.
    pub(crate) attempt: String,
    /// The id of the submission, under which the request is stored.
    pub(crate) submission: String,
    /// A value as long as the fingerprint of the request.
    pub(crate) fingerprint: String,
    /// The time of its start.
    pub(crate) created: String,
}

impl Turn {
    /// Reads the turn of an event.
    pub(crate) fn from_event(event: Event) -> Result<Self, Error> {
        let Event { body: request, request_context: RequestContext { authorizer: Authorizer { claims } } } =
            event;
        let body: Body = serde_json::from_str(&request)?;
        let id = TurnId { org: claims.org, session: body.session_id, turn: body.turn_id };
        Ok(Self {
            id,
            user: claims.user,
            instruction: body.instruction,
            is_streamed: body.streaming,
            request,
            attempt: unique(),
            submission: unique(),
            fingerprint: format!("{}{}", unique(), unique()),
            created: now(),
        })
    }
}

/// The ids of a turn. Also the members of its message on the queue.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct TurnId {
    pub(crate) org: String,
    pub(crate) session: String,
    pub(crate) turn: String,
}

impl TurnId {
    /// Returns the partition key of the session's items.
    pub(crate) fn partition(&self) -> String {
        format!("O#{}#S#{}", self.org, self.session)
    }

    /// Returns the sort key of the turn's head.
    pub(crate) fn head(&self) -> String {
        format!("TURN#{}", self.turn)
    }

    /// Returns the sort key of the turn's request item.
    pub(crate) fn request(&self) -> String {
        format!("TURN#{}#REQUEST", self.turn)
    }

    /// Returns the key of an object of the turn.
    pub(crate) fn object(&self, name: &str) -> String {
        format!("{}/{}/{}/{name}", self.org, self.session, self.turn)
    }
}

/// Returns a new id.
pub(crate) fn unique() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Returns the current time, with milliseconds.
pub(crate) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn turn_is_read_from_the_event_of_a_rest_api() {
        let body =
            json!({"SessionId": "s", "TurnId": "t", "Instruction": "Hi", "Streaming": true}).to_string();
        let claims = json!({"custom:org": "acme", "sub": "ada", "name": "Ada"});
        let event = json!({
            "httpMethod": "POST", "body": body,
            "requestContext": {"authorizer": {"claims": claims}, "requestId": "r"},
        });
        let turn = Turn::from_event(serde_json::from_value(event).unwrap()).unwrap();
        assert_eq!((turn.id.partition(), turn.id.head()), ("O#acme#S#s".to_owned(), "TURN#t".to_owned()));
        assert_eq!(turn.id.object("x.json"), "acme/s/t/x.json");
        assert_eq!((turn.user.as_str(), turn.instruction.as_str(), turn.is_streamed), ("ada", "Hi", true));
        assert_eq!((turn.fingerprint.len(), turn.created.len()), (64, "2026-11-27T10:00:00.000Z".len()));
    }
}
