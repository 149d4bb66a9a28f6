//! A client that runs tools: it reads a continuation and makes results, the right ones or wrong ones.

use contracts::ToolContinuation;
use serde_json::{Value, json};

/// What a client was told to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    session: String,
    turn: String,
    /// The calls' ids, in order.
    pub ids: Vec<String>,
}

/// A way in which results can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// The list, but not each of its members, is another one.
    Missing,
    Extra,
    Swapped,
    Doubled,
    Foreign,
    /// A list that answered an earlier round, whole.
    EarlierRound,
    /// The list or one of its members breaks a rule of its own.
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
    /// Those that only who holds the turn can refuse.
    pub const OF_THE_LIST: [Self; 6] =
        [Self::Missing, Self::Extra, Self::Swapped, Self::Doubled, Self::Foreign, Self::EarlierRound];

    /// Those that the contract refuses.
    pub const OF_THE_SHAPE: [Self; 9] = [
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

impl Calls {
    /// The calls of a response's body; none when it is no continuation.
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let result = body.get("Result").filter(|result| result["Kind"] == "client_tool_continuation")?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let ids = result["ToolCalls"].as_array()?.iter().filter_map(|call| text(&call["ToolCallId"]));
        Some(Self {
            session: text(&result["SessionId"])?,
            turn: text(&result["TurnId"])?,
            ids: ids.collect(),
        })
    }

    /// The right results. Each names its call, and `says` tells one client's from another's; every third
    /// tool failed.
    #[must_use]
    pub fn results(&self, says: &str) -> Vec<Value> {
        let result = |(position, id): (usize, &String)| match position % 3 {
            2 => {
                json!({ "ToolCallId": id, "ExecutionMs": 3, "ErrorMessage": format!("{id} failed: {says}") })
            }
            _ => json!({
                "ToolCallId": id, "ExecutionMs": 2, "ResultJson": json!({ "of": id, "says": says }).to_string(),
            }),
        };
        self.ids.iter().enumerate().map(result).collect()
    }

    /// A list of results as the body of a request.
    #[must_use]
    pub fn body(&self, results: &[Value]) -> Vec<u8> {
        json!({ "SessionId": self.session, "TurnId": self.turn, "ToolResults": results })
            .to_string()
            .into_bytes()
    }

    /// A list of results as a request; the contract must allow it.
    #[must_use]
    pub fn request(&self, results: &[Value]) -> ToolContinuation {
        ToolContinuation::parse(&self.body(results)).unwrap()
    }

    /// The right results.
    #[must_use]
    pub fn answered(&self, says: &str) -> ToolContinuation {
        self.request(&self.results(says))
    }
}

/// The list with a fault at a position; none where such a list can't have this fault.
///
/// `earlier` is a list that answered an earlier round of the turn.
#[must_use]
pub fn mutated(right: &[Value], mutation: Mutation, at: usize, earlier: &[Value]) -> Option<Vec<Value>> {
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
        // An empty list breaks a rule of the contract already.
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
