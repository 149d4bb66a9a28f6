//! A configuration of the model: the processes, the faults and their numbers.

use crate::{coverage::Event, rules::Rule, state::OutcomeKind};

/// A bounded state space to check.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The name in the printed figures.
    pub(crate) name: &'static str,
    /// The processes.
    pub(crate) roles: Vec<Role>,
    /// The model's possible replies, by turn and number of suspensions.
    pub(crate) model_replies: fn(turn: u8, round: u32) -> &'static [OutcomeKind],
    /// The number of ticks before the quiescence.
    pub(crate) ticks: u8,
    /// The processes that may crash once each, by position.
    pub(crate) crashes: Vec<u8>,
    /// True if a crash may leave a write in flight, to arrive at any time.
    pub(crate) late_writes: bool,
    /// The number of replies that may be lost.
    pub(crate) lost_replies: u8,
    /// The number of messages that may be lost.
    pub(crate) lost_messages: u8,
    /// The number of messages that may be delivered twice.
    pub(crate) duplicates: u8,
    /// The number of renewals per attempt.
    pub(crate) renewals: u8,
    /// True if providers store what a call was cut off from, and may tell its usage later.
    pub(crate) pending_usage: bool,
    /// True if storing an outcome may fail permanently.
    pub(crate) unstorable: bool,
    /// True if non-atomic reads are steps of their own.
    pub(crate) fine_grained: bool,
    /// The reruns: each turn with the turn that it repeats.
    pub(crate) reruns: Vec<(u8, u8)>,
    /// The turn that stages a mode change when it answers.
    pub(crate) stages_mode: Option<u8>,
    /// The disabled rules.
    pub(crate) disabled_rules: Vec<Rule>,
    /// The events that must happen somewhere.
    pub(crate) expected_events: Vec<Event>,
}

/// Returns the bound of a large state space: the full one with `MODEL_CHECK=full`, which takes minutes.
pub(crate) fn usual_or_full<T>(usual: T, full: T) -> T {
    if std::env::var("MODEL_CHECK").is_ok_and(|size| size == "full") { full } else { usual }
}

/// The role of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// A client and the function that runs for it. It sends these requests in order, each one once the one before is
    /// answered, refused or cut off.
    Executor {
        /// The turn and body of each request.
        requests: Vec<(u8, u8)>,
        /// True if it repeats the last request until it is answered.
        persistent: bool,
    },
    /// A client that ran the tools and sends these results for a turn, one after the other.
    Tools {
        /// The turn.
        turn: u8,
        /// The content of each, and a flag for results that match the calls.
        results: Vec<(u8, bool)>,
    },
    /// A client that cancels a turn once.
    Canceller {
        /// The turn.
        turn: u8,
    },
    /// A client that edits the session: each edit once, in this order.
    Admin {
        /// The edits.
        edits: Vec<SessionEdit>,
    },
    /// The queue's consumer.
    Finalizer,
    /// The sweep.
    Sweep,
    /// An operator who imports the session once, with one settled turn.
    Importer,
    /// The finalizer in its role of removing a purged session's data.
    Purger,
}

/// An edit of the session by its owner or an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEdit {
    /// Deletes the session.
    Delete,
    /// Restores the session.
    Restore,
    /// Purges the session.
    Purge,
    /// Quarantines the session, as an operator.
    Quarantine,
    /// Releases the session from its quarantine.
    Release,
}

impl Config {
    /// Creates a configuration without faults, in which the model answers.
    pub(crate) fn new(name: &'static str, roles: Vec<Role>) -> Self {
        Self {
            name,
            roles,
            model_replies: |_, _| &[OutcomeKind::Answer],
            ticks: 0,
            crashes: Vec::new(),
            late_writes: false,
            lost_replies: 0,
            lost_messages: 0,
            duplicates: 0,
            renewals: 0,
            pending_usage: false,
            unstorable: false,
            fine_grained: false,
            reruns: Vec::new(),
            stages_mode: None,
            disabled_rules: Vec::new(),
            expected_events: Vec::new(),
        }
    }

    /// Returns the configuration with these rules disabled and no expected events.
    pub(crate) fn without(&self, rules: &[Rule]) -> Self {
        Self { disabled_rules: rules.to_vec(), expected_events: Vec::new(), ..self.clone() }
    }
}

impl Role {
    /// Creates a client that sends these requests.
    pub(crate) fn client(requests: &[(u8, u8)]) -> Self {
        Self::Executor { requests: requests.to_vec(), persistent: false }
    }

    /// Creates a client that sends these requests and repeats the last one until it is answered.
    pub(crate) fn persistent_client(requests: &[(u8, u8)]) -> Self {
        Self::Executor { requests: requests.to_vec(), persistent: true }
    }

    /// Returns the maximum number of calls of its client, not counting repeats.
    pub(crate) fn max_calls(&self) -> usize {
        match self {
            Self::Executor { requests, .. } => requests.len(),
            Self::Tools { results, .. } => results.len(),
            Self::Canceller { .. } | Self::Importer => 1,
            Self::Admin { edits } => edits.len(),
            Self::Finalizer | Self::Sweep | Self::Purger => 0,
        }
    }
}
