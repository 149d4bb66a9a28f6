//! A client that runs tools: it parses continuations and produces correct or wrong results.

use contracts::ToolContinuation;
use serde_json::{Value, json};

/// The calls in a continuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCalls {
    session: String,
    turn: String,
    /// The ids of the calls, in order.
    pub ids: Vec<String>,
    /// The paths that they name, or empty text.
    paths: Vec<String>,
}

/// A fault in a list of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// Faults of the list as a whole.
    Missing,
    Extra,
    Swapped,
    Doubled,
    Foreign,
    /// The complete list of an earlier round.
    EarlierRound,
    /// Faults that break a rule of the contract.
    Empty,
    BothOutcomes,
    NeitherOutcome,
    NotJson,
    BlankError,
    NegativeTime,
    NoTime,
    NoCallId,
    UnknownMember,
}

impl Mutation {
    /// The mutations that only the turn's owner can detect.
    pub const LIST_MUTATIONS: [Self; 6] =
        [Self::Missing, Self::Extra, Self::Swapped, Self::Doubled, Self::Foreign, Self::EarlierRound];

    /// The mutations that the contract rejects.
    pub const SHAPE_MUTATIONS: [Self; 9] = [
        Self::Empty,
        Self::BothOutcomes,
        Self::NeitherOutcome,
        Self::NotJson,
        Self::BlankError,
        Self::NegativeTime,
        Self::NoTime,
        Self::NoCallId,
        Self::UnknownMember,
    ];
}

impl PendingCalls {
    /// Parses a response. Returns `None` if it is no continuation.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let result = body.get("Result").filter(|result| result["Kind"] == "client_tool_continuation")?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let calls = || result["ToolCalls"].as_array().into_iter().flatten();
        let path = |call: &Value| {
            let arguments: Value = serde_json::from_str(call["ArgumentsJson"].as_str()?).ok()?;
            text(&arguments["path"])
        };
        Some(Self {
            session: text(&result["SessionId"])?,
            turn: text(&result["TurnId"])?,
            ids: calls().filter_map(|call| text(&call["ToolCallId"])).collect(),
            paths: calls().map(|call| path(call).unwrap_or_default()).collect(),
        })
    }

    /// Returns correct results. Each contains its call's path and `label`, which distinguishes clients. Every third one
    /// is an error.
    #[must_use]
    pub fn results(&self, label: &str) -> Vec<Value> {
        let result = |(position, (id, path)): (usize, (&String, &String))| match position % 3 {
            2 => {
                json!({ "ToolCallId": id, "ExecutionMs": 3, "ErrorMessage": format!("{path} failed: {label}") })
            }
            _ => json!({
                "ToolCallId": id, "ExecutionMs": 2, "ResultJson": json!({ "of": path, "says": label }).to_string(),
            }),
        };
        self.ids.iter().zip(&self.paths).enumerate().map(result).collect()
    }

    /// Returns a request body with these results.
    #[must_use]
    pub fn body(&self, results: &[Value]) -> Vec<u8> {
        json!({ "SessionId": self.session, "TurnId": self.turn, "ToolResults": results })
            .to_string()
            .into_bytes()
    }

    /// Returns a request with these results, which must satisfy the contract.
    #[must_use]
    pub fn request(&self, results: &[Value]) -> ToolContinuation {
        ToolContinuation::parse(&self.body(results)).unwrap()
    }

    /// Returns a request with correct results.
    #[must_use]
    pub fn correct_request(&self, label: &str) -> ToolContinuation {
        self.request(&self.results(label))
    }
}

/// Returns the list with a fault at a position, or `None` if the list can't have this fault.
///
/// `earlier` is a list that answered an earlier round of the turn.
#[must_use]
pub fn mutate(right: &[Value], mutation: Mutation, at: usize, earlier: &[Value]) -> Option<Vec<Value>> {
    let mut list = right.to_vec();
    let at = at % list.len().max(1);
    let foreign = || json!({ "ToolCallId": "call_of_another", "ExecutionMs": 1, "ResultJson": "1" });
    let one = list.get_mut(at)?.as_object_mut()?;
    match mutation {
        Mutation::BothOutcomes => {
            one.insert("ErrorMessage".to_owned(), json!("no"));
            one.insert("ResultJson".to_owned(), json!("1"));
        }
        Mutation::NeitherOutcome => {
            one.remove("ResultJson");
            one.remove("ErrorMessage");
        }
        Mutation::NotJson => {
            one.remove("ErrorMessage");
            one.insert("ResultJson".to_owned(), json!("{\"of\":"));
        }
        Mutation::BlankError => {
            one.remove("ResultJson");
            one.insert("ErrorMessage".to_owned(), json!(" \n"));
        }
        Mutation::NegativeTime => drop(one.insert("ExecutionMs".to_owned(), json!(-1))),
        Mutation::NoTime => drop(one.remove("ExecutionMs")),
        Mutation::NoCallId => drop(one.remove("ToolCallId")),
        Mutation::UnknownMember => drop(one.insert("Comment".to_owned(), json!("x"))),
        // An empty list breaks a rule of the contract.
        Mutation::Missing if list.len() == 1 => return None,
        Mutation::Missing => drop(list.remove(at)),
        Mutation::Extra => list.insert(at, foreign()),
        Mutation::Doubled => list.insert(at, list.get(at)?.clone()),
        Mutation::Foreign => list[at] = foreign(),
        Mutation::Swapped => {
            let other = (at + 1) % list.len();
            list.swap(at, other);
        }
        Mutation::EarlierRound if earlier.is_empty() => return None,
        Mutation::EarlierRound => list = earlier.to_vec(),
        Mutation::Empty => list.clear(),
    }
    (list != right).then_some(list)
}
