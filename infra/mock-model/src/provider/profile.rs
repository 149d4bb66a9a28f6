//! The differences that a profile can hold.

use axum::http::{HeaderMap, header};
use serde_json::{Map, Value};

use crate::refusal::{Layout, Refusal};

/// Differences of a provider from the published API.
#[derive(Debug)]
pub struct Profile {
    pub name: &'static str,
    /// Location of the key.
    pub key: Key,
    /// Support for continuing from a response.
    pub chain: Chain,
    /// Members of a response about storage and chaining.
    pub echo: Echo,
    /// Default layout of errors.
    pub errors: Layout,
    /// Error for an input that exceeds the model's context. `None` if the provider truncates it silently.
    pub overflow: Option<ErrorTemplate>,
    /// Error for an unknown model.
    pub unknown_model: ErrorTemplate,
    /// Members that the published API accepts and this provider refuses.
    pub refuses: &'static [(Feature, ErrorTemplate)],
    /// Members that are accepted and ignored.
    pub ignores: &'static [&'static str],
    /// True if an output without its call, or a call without its output, is refused.
    pub checks_calls: bool,
    /// Additions to the published stream events.
    pub framing: Framing,
}

/// Location of a provider's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `Authorization: Bearer …`.
    Bearer,
    /// This header, or else `Authorization: Bearer …`.
    Header(&'static str),
    /// No key is required.
    NotRequired,
}

/// Support for continuing from a response.
#[derive(Debug)]
pub enum Chain {
    /// Supported while the response is stored; the error is for a response that is not.
    Supported(ErrorTemplate),
    /// Refused with this error.
    Refused(ErrorTemplate),
    /// The parameter is ignored: see [`Profile::ignores`].
    Ignored,
}

/// Members of a response about storage and chaining.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// The requested values.
    AsRequested,
    /// The requested chain, but `store: false`.
    NeverStored,
    /// Always not stored and not continued.
    Stateless,
    /// Neither member.
    Silent,
}

/// A feature of a request that a provider may refuse.
#[derive(Debug, Clone, Copy)]
pub enum Feature {
    /// This reasoning effort.
    Effort(&'static str),
    /// A part of this type.
    Part(&'static str),
    /// An explicit `store: true`.
    Store,
}

/// Template of an error message. `{id}` stands for the previous response, `{model}` for the model.
#[derive(Debug, Clone, Copy)]
pub struct ErrorTemplate {
    pub status: u16,
    pub layout: Layout,
    pub code: Option<&'static str>,
    pub kind: &'static str,
    pub param: Option<&'static str>,
    pub message: &'static str,
}

/// Additions to the published stream events.
#[derive(Debug, Clone, Copy)]
pub struct Framing {
    /// A comment before the first event.
    pub comment: Option<&'static str>,
    /// `data: [DONE]` after the last.
    pub done: bool,
    /// True if events have a sequence number and positions.
    pub placed: bool,
}

impl ErrorTemplate {
    /// Creates the refusal for these ids.
    pub fn refusal(self, id: &str, model: &str) -> Refusal {
        Refusal {
            status: self.status,
            kind: self.kind.into(),
            code: self.code.map(Into::into),
            param: self.param.map(Into::into),
            message: self.message.replace("{id}", id).replace("{model}", model),
            headers: Vec::new(),
            layout: Some(self.layout),
            invalid_request: false,
        }
    }
}

impl Profile {
    /// Refuses a key that is missing or begins with `invalid`, if the provider requires one.
    pub fn authorize(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let header_value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer =
            || header_value(header::AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
        let key = match self.key {
            Key::NotRequired => return Ok(()),
            Key::Bearer => bearer(),
            Key::Header(name) => header_value(name).or_else(bearer),
        };
        if key.is_some_and(|key| !key.is_empty() && !key.starts_with("invalid")) {
            return Ok(());
        }
        Err(Refusal {
            status: 401,
            param: None,
            ..Refusal::invalid("invalid_api_key", "", "The API key is missing or invalid.")
        })
    }

    /// Refuses features that the published schema allows and this provider does not.
    pub fn check(&self, body: &Map<String, Value>) -> Result<(), Refusal> {
        match self.refuses.iter().find(|(feature, _)| feature.is_in(body)) {
            None => Ok(()),
            Some((_, words)) => Err(words.refusal("", "")),
        }
    }

    /// Members that this provider reads.
    pub fn read(&self, body: &Map<String, Value>) -> Map<String, Value> {
        let seen = body.iter().filter(|(name, _)| !self.ignores.contains(&name.as_str()));
        seen.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl Feature {
    fn is_in(self, body: &Map<String, Value>) -> bool {
        match self {
            Self::Store => body.get("store") == Some(&Value::Bool(true)),
            Self::Effort(effort) => {
                body.get("reasoning").and_then(|reasoning| reasoning.get("effort"))
                    == Some(&Value::from(effort))
            }
            Self::Part(kind) => {
                let items = body.get("input").and_then(Value::as_array).into_iter().flatten();
                let parts = items.filter_map(|item| item.get("content")?.as_array()).flatten();
                parts.into_iter().any(|part| part.get("type").and_then(Value::as_str) == Some(kind))
            }
        }
    }
}
