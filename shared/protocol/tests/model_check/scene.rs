//! A configuration: who acts, what may go wrong, and how often.

use crate::{coverage::Event, rules::Rule, state::Said};

/// One bounded world to be exhausted.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    /// What it is called in the figures.
    pub(crate) name: &'static str,
    /// Who acts, beside the clock.
    pub(crate) roles: Vec<Role>,
    /// What the model may reply, by turn and by how often the turn was suspended.
    pub(crate) replies: fn(turn: u8, round: u32) -> &'static [Said],
    /// Ticks before the end of time.
    pub(crate) ticks: u8,
    /// Processes that may crash once each, by position.
    pub(crate) crashes: Vec<u8>,
    /// Whether a crash may leave a write on its way, to arrive at any time.
    pub(crate) late_writes: bool,
    /// Replies that may be lost.
    pub(crate) lost_replies: u8,
    /// Messages that may be lost.
    pub(crate) lost_messages: u8,
    /// Messages that may be delivered once more.
    pub(crate) duplicates: u8,
    /// Renewals each attempt may make.
    pub(crate) renewals: u8,
    /// Whether storing an outcome may fail for good.
    pub(crate) unstorable: bool,
    /// Whether reads that are no snapshot, and details that are written apart, are steps of their own.
    pub(crate) fine: bool,
    /// Turns that run another one again, and which.
    pub(crate) reruns: Vec<(u8, u8)>,
    /// The turn that stages a mode change when it answers.
    pub(crate) stages_mode: Option<u8>,
    /// Rules that are taken out.
    pub(crate) out: Vec<Rule>,
    /// What must happen somewhere.
    pub(crate) shows: Vec<Event>,
}

/// What a process does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// A client and the function that runs for it: these requests in this order, each as soon as the one
    /// before was answered, refused or cut off.
    Executor {
        /// Turn and body of each.
        requests: Vec<(u8, u8)>,
        /// Whether it asks for the last one until it is answered.
        insists: bool,
    },
    /// A client that ran the tools: sends these results for a turn, one after the other.
    Tools {
        /// The turn.
        turn: u8,
        /// What they say, and whether they match the calls.
        results: Vec<(u8, bool)>,
    },
    /// A client that cancels a turn once.
    Canceller {
        /// The turn.
        turn: u8,
    },
    /// A client that deletes the session, takes that back and has it purged, in this order, each once.
    Keeper {
        /// What it does.
        does: Vec<Upkeep>,
    },
    /// The queue's consumer.
    Finalizer,
    /// The sweep.
    Sweep,
    /// The finalizer as it removes what a purged session left.
    Purger,
}

/// What becomes of a session on its owner's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upkeep {
    /// It takes no more turns.
    Delete,
    /// It does again.
    Restore,
    /// Nothing of it is to be left.
    Purge,
}

impl Scene {
    /// A quiet world: nothing goes wrong, the model answers.
    pub(crate) fn named(name: &'static str, roles: Vec<Role>) -> Self {
        Self {
            name,
            roles,
            replies: |_, _| &[Said::Answer],
            ticks: 0,
            crashes: Vec::new(),
            late_writes: false,
            lost_replies: 0,
            lost_messages: 0,
            duplicates: 0,
            renewals: 0,
            unstorable: false,
            fine: false,
            reruns: Vec::new(),
            stages_mode: None,
            out: Vec::new(),
            shows: Vec::new(),
        }
    }

    /// The same world without a rule.
    pub(crate) fn without(&self, rules: &[Rule]) -> Self {
        Self { out: rules.to_vec(), shows: Vec::new(), ..self.clone() }
    }
}

impl Role {
    /// Sends these requests.
    pub(crate) fn asks(requests: &[(u8, u8)]) -> Self {
        Self::Executor { requests: requests.to_vec(), insists: false }
    }

    /// Sends these requests, the last one until it is answered.
    pub(crate) fn insists(requests: &[(u8, u8)]) -> Self {
        Self::Executor { requests: requests.to_vec(), insists: true }
    }

    /// How many calls its client makes at most, short of insisting.
    pub(crate) fn calls(&self) -> usize {
        match self {
            Self::Executor { requests, .. } => requests.len(),
            Self::Tools { results, .. } => results.len(),
            Self::Canceller { .. } => 1,
            Self::Keeper { does } => does.len(),
            Self::Finalizer | Self::Sweep | Self::Purger => 0,
        }
    }
}
