//! One scripted reply, as the directive states it.

use std::time::Duration;

use serde_json::Value;

use crate::deviations::Deviation;

/// Scripted answer to one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reply {
    pub(crate) statuses: Vec<Status>,
    pub(crate) delay: Duration,
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
    pub(crate) cut: Option<Cut>,
    pub(crate) drops: Option<Drops>,
    /// Sends the headers and then nothing.
    pub(crate) silent: bool,
    pub(crate) usage: Usage,
    /// Number in its ids, in place of a random one.
    pub(crate) id: Option<u64>,
    /// What a read of the response finds after its client left early. Nothing, unless the script says so.
    pub(crate) outlives: Option<Outlived>,
    /// Differences of its response from the published one.
    pub(crate) deviations: Vec<Deviation>,
}

impl Reply {
    pub(crate) fn has(&self, deviation: &Deviation) -> bool {
        self.deviations.contains(deviation)
    }
}

/// An item to send, or a change of the pace or size of deltas.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Say(String),
    Echo,
    Refuse(String),
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
pub(crate) enum End {
    #[default]
    Complete,
    Fail(String),
    Error(String),
    Incomplete(String),
    Missing,
}

/// An HTTP error instead of the reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) status: u16,
    pub(crate) code: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) param: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) times: Option<u32>,
    pub(crate) chained: bool,
    /// Only for requests to this model, or if the mock model imitates this provider.
    pub(crate) only: Option<String>,
    /// Only if the request has more words than this.
    pub(crate) over: Option<u64>,
    /// Uses the provider's own error for an input that exceeds the model's context.
    pub(crate) overflow: bool,
}

/// Position at which the body ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) after: usize,
    pub(crate) unit: Unit,
    /// Breaks the connection instead of ending the body.
    pub(crate) reset: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Events,
    Bytes,
}

/// A stored response whose client left early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlived {
    /// It ended with what was sent.
    Ended,
    /// It goes on.
    Unfinished,
}

/// The connection closes without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) times: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Usage {
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
