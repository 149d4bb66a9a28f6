//! A tool call with what came of it, and how much of it is kept for telling it again.

use contracts::response::ToolOutcome;
use serde::{Deserialize, Serialize};

use crate::model::{FunctionCall, ToolOutput};

/// A call and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Called {
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

impl Called {
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
pub fn kept(calls: impl DoubleEndedIterator<Item = Called>, bounds: Bounds) -> Vec<Called> {
    let mut left = bounds.all;
    let sized = calls.rev().map(|call| cut_to(call, bounds.value));
    let mut kept: Vec<Called> = sized
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

fn cut_to(call: Called, most: usize) -> Called {
    Called {
        arguments: cut(call.arguments, most),
        outcome: call.outcome.map(|outcome| match outcome {
            ToolOutcome::ResultJson(json) => ToolOutcome::ResultJson(cut(json, most)),
            ToolOutcome::ErrorMessage(message) => ToolOutcome::ErrorMessage(cut(message, most)),
        }),
        ..call
    }
}

fn size(call: &Called) -> usize {
    let outcome = call.outcome.as_ref().map_or(0, |outcome| match outcome {
        ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text) => text.len(),
    });
    [call.call_id.len(), call.name.len(), call.arguments.len(), outcome].iter().sum()
}

/// The head of a text that is too long, and how much of it is missing.
fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let head = text.split_at(text.floor_char_boundary(most)).0;
    format!("{head}\n[cut here: {} of {} bytes left out]", text.len() - head.len(), text.len())
}
