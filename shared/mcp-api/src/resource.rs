//! Sessions, turns and a search of them as resources.

use std::fmt;

use contracts::{
    id::{SessionId, TurnId},
    read::AgentSessionSummary,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use url::Url;

use crate::object::with;

const SCHEME: &str = "aptix";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// The URI of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uri {
    /// A session with its latest turns.
    Session(SessionId),
    /// A turn.
    Turn {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// The text of a turn's answer.
    Answer {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// A page of the sessions that match a text.
    Search {
        /// The text.
        query: String,
        /// The token of the page. `None` for the first.
        token: Option<String>,
    },
}

impl Uri {
    /// Parses a URI. `None` if it names no resource of this server.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok().filter(|url| url.scheme() == SCHEME && url.fragment().is_none())?;
        let path: Vec<&str> = url.path().split('/').skip(1).collect();
        let uri = match (url.host_str()?, path.as_slice()) {
            ("search", []) => return search(&url),
            ("sessions", [session]) => Self::Session(SessionId::new(*session).ok()?),
            ("sessions", [session, "turns", turn]) => {
                Self::Turn { session: SessionId::new(*session).ok()?, turn: TurnId::new(*turn).ok()? }
            }
            ("sessions", [session, "turns", turn, "answer"]) => {
                Self::Answer { session: SessionId::new(*session).ok()?, turn: TurnId::new(*turn).ok()? }
            }
            _ => return None,
        };
        url.query().is_none().then_some(uri)
    }

    fn media_type(&self) -> &'static str {
        match self {
            Self::Answer { .. } => TEXT,
            Self::Session(_) | Self::Turn { .. } | Self::Search { .. } => JSON,
        }
    }
}

fn search(url: &Url) -> Option<Uri> {
    let (mut query, mut token) = (None, None);
    for (name, value) in url.query_pairs() {
        match &*name {
            "q" => query = Some(value.into_owned()),
            "continuationToken" => token = Some(value.into_owned()),
            _ => return None,
        }
    }
    Some(Uri::Search { query: query?, token: token.filter(|token| !token.is_empty()) })
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => write!(f, "{SCHEME}://sessions/{session}"),
            Self::Turn { session, turn } => write!(f, "{SCHEME}://sessions/{session}/turns/{turn}"),
            Self::Answer { session, turn } => write!(f, "{SCHEME}://sessions/{session}/turns/{turn}/answer"),
            Self::Search { query, token } => {
                write!(f, "{SCHEME}://search?q={}", utf8_percent_encode(query, NON_ALPHANUMERIC))?;
                token.as_ref().map_or(Ok(()), |token| write!(f, "&continuationToken={token}"))
            }
        }
    }
}

/// Returns a page of the list of resources: the sessions that the caller may read.
#[must_use]
pub fn list(sessions: &[AgentSessionSummary], next: Option<&str>) -> Value {
    let resources: Vec<Value> = sessions.iter().map(entry).collect();
    with(json!({"resources": resources}), "nextCursor", next)
}

fn entry(session: &AgentSessionSummary) -> Value {
    let entry = json!({
        "uri": Uri::Session(session.id.clone()).to_string(),
        "name": session.id,
        "title": session.name,
        "mimeType": JSON,
        "annotations": {"lastModified": session.last_updated_date},
    });
    with(entry, "description", session.description.clone())
}

/// Returns the list of templates.
#[must_use]
pub fn templates() -> Value {
    let template = |uri: &str, name: &str, description: &str, media_type: &str| {
        json!({
            "uriTemplate": format!("{SCHEME}://{uri}"), "name": name, "description": description,
            "mimeType": media_type,
        })
    };
    json!({"resourceTemplates": [
        template("sessions/{session}", "session", "A session with its latest 100 turns, newest first.", JSON),
        template("sessions/{session}/turns/{turn}", "turn", "A turn of a session.", JSON),
        template("sessions/{session}/turns/{turn}/answer", "answer", "The full text of a turn's answer.", TEXT),
        template(
            "search{?q,continuationToken}", "search",
            "The sessions with all these words in their names, descriptions, messages and answers, newest first.", JSON,
        ),
    ]})
}

/// Returns the content of a resource.
#[must_use]
pub fn contents(uri: &Uri, text: &str) -> Value {
    json!({"contents": [{"uri": uri.to_string(), "mimeType": uri.media_type(), "text": text}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_round_trip() {
        for text in [
            "aptix://sessions/s~1",
            "aptix://sessions/s/turns/t",
            "aptix://sessions/S/turns/T/answer",
            "aptix://search?q=big%20%26%20small",
            "aptix://search?q=a&continuationToken=abc",
        ] {
            assert_eq!(Uri::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "sessions/s",
            "http://sessions/s",
            "aptix://sessions",
            "aptix://sessions/",
            "aptix://sessions/a%2Fb",
            "aptix://sessions/s?x=1",
            "aptix://sessions/s#x",
            "aptix://sessions/s/turns",
            "aptix://sessions/s/turns/t/instruction",
            "aptix://search",
            "aptix://search?x=1&q=a",
            "aptix://turns/s",
        ] {
            assert_eq!(Uri::parse(text), None, "{text}");
        }
    }
}
