//! A tool call with what came of it, and how much of it is kept for telling it again.

use contracts::response::ToolOutcome;
use serde::{Deserialize, Serialize};

use crate::{
    model::{FunctionCall, ToolOutput},
    text::cut,
};

/// A call and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CallRecord {
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them.
    pub arguments: String,
    /// What came of it; none while the client runs it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<ToolOutcome>,
}

impl CallRecord {
    /// A call that nobody has run yet.
    #[must_use]
    pub fn open(call: FunctionCall) -> Self {
        Self { call_id: call.call_id, name: call.name, arguments: call.arguments, outcome: None }
    }

    /// The call with what came of it; none while it is open.
    #[must_use]
    pub fn output(&self) -> Option<ToolOutput> {
        let call = FunctionCall {
            call_id: self.call_id.clone(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
        };
        Some(ToolOutput { call, outcome: self.outcome.clone()? })
    }
}

/// How much of some calls is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Of a call's arguments, and of its result: bytes.
    pub value: usize,
    /// Of all of them together: bytes. The newest are kept.
    pub all: usize,
}

impl Bounds {
    /// While the turn goes on.
    pub const IN_TURN: Self = Self { value: 16 << 10, all: 512 << 10 };
    /// With the outcome of a completed turn.
    pub const COMPLETED: Self = Self { value: 4 << 10, all: 64 << 10 };
}

/// The newest of these calls, oldest first, each cut to size.
#[must_use]
pub fn kept(calls: impl DoubleEndedIterator<Item = CallRecord>, bounds: Bounds) -> Vec<CallRecord> {
    let mut left = bounds.all;
    let sized = calls.rev().map(|call| cut_to(call, bounds.value));
    let mut kept: Vec<CallRecord> = sized
        .take_while(|call| match left.checked_sub(size(call)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
        .collect();
    kept.reverse();
    kept
}

fn cut_to(call: CallRecord, most: usize) -> CallRecord {
    CallRecord {
        arguments: cut(call.arguments, most),
        outcome: call.outcome.map(|outcome| match outcome {
            ToolOutcome::ResultJson(json) => ToolOutcome::ResultJson(cut(json, most)),
            ToolOutcome::ErrorMessage(message) => ToolOutcome::ErrorMessage(cut(message, most)),
        }),
        ..call
    }
}

fn size(call: &CallRecord) -> usize {
    let outcome = call.outcome.as_ref().map_or(0, |outcome| match outcome {
        ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text) => text.len(),
    });
    [call.call_id.len(), call.name.len(), call.arguments.len(), outcome].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(id: &str, result: &str) -> CallRecord {
        CallRecord {
            call_id: id.to_owned(),
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
            outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
        }
    }

    #[test]
    fn long_values_are_cut_with_a_mark_and_the_newest_calls_are_kept() {
        let bounds = Bounds { value: 5, all: 200 };
        let cut = kept([called("c1", "äää0123456789")].into_iter(), bounds);
        let Some(ToolOutcome::ResultJson(text)) = &cut[0].outcome else { panic!("a result") };
        assert_eq!(text, "ää\n[cut here: 12 of 16 bytes left out]", "no character is cut in two");
        let many = kept((0..40).map(|n| called(&format!("c{n:02}"), "1")), bounds);
        assert_eq!((many[0].call_id.as_str(), many.last().unwrap().call_id.as_str()), ("c20", "c39"));
    }
}
