//! Tool calls as they are kept for telling them again: bounded, with a mark where something was cut.

use contracts::response::ToolOutcome;

use crate::progress::Called;

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
