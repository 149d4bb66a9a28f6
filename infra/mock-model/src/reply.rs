//! One scripted reply, as the directive states it.

use std::time::Duration;

use serde_json::Value;

use crate::deviations::Deviation;

/// Scripted answer to one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub statuses: Vec<Status>,
    pub delay: Duration,
    pub steps: Vec<Step>,
    pub end: End,
    pub cut: Option<Cut>,
    pub drops: Option<Drops>,
    /// Sends the headers and then nothing.
    pub silent: bool,
    pub usage: Usage,
    /// Number in its ids, in place of a random one.
    pub id: Option<u64>,
    /// What a read of the response finds after its client left early. Nothing, unless the script says so.
    pub outlives: Option<Outlived>,
    /// Differences of its response from the published one.
    pub deviations: Vec<Deviation>,
}

impl Reply {
    pub fn has(&self, deviation: &Deviation) -> bool {
        self.deviations.contains(deviation)
    }
}

/// An item to send, or a change of the pace or size of deltas.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Say(String),
    Echo,
    Refuse(String),
    Phase(String),
    Think(String),
    Hosted { kind: String, members: Value },
    Cite(Value),
    Call { name: String, arguments: Value },
    Pace(Duration),
    Chunk(usize),
    Hang(Duration),
    UnknownEvent,
    Malformed,
}

/// The terminal event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum End {
    #[default]
    Complete,
    Fail(String),
    Error(String),
    Incomplete(String),
    Missing,
}

/// An HTTP error instead of the reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    pub status: u16,
    pub code: Option<String>,
    pub kind: Option<String>,
    pub param: Option<String>,
    pub message: Option<String>,
    pub headers: Vec<(String, String)>,
    pub times: Option<u32>,
    pub chained: bool,
    /// Only for requests to this model, or if the mock model imitates this provider.
    pub only: Option<String>,
    /// Only if the request has more words than this.
    pub over: Option<u64>,
    /// Uses the provider's own error for an input that exceeds the model's context.
    pub overflow: bool,
}

/// Position at which the body ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub after: usize,
    pub unit: Unit,
    /// Breaks the connection instead of ending the body.
    pub reset: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Events,
    Bytes,
}

/// A stored response whose client left early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlived {
    /// It ended with what was sent.
    Ended,
    /// It goes on.
    Unfinished,
}

/// The connection closes without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drops {
    pub times: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    #[default]
    Counted,
    None,
    Stated {
        input: u64,
        output: u64,
        cached: u64,
        written: u64,
        reasoning: u64,
    },
}
