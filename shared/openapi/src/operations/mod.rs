//! The HTTP API as tables: one row per operation, one file per subject.
//!
//! A row defines an operation's parameters, body, response and errors. Everything else in the document follows from
//! it.

mod contexts;
mod history;
mod payloads;
mod row;
mod sessions;
mod turns;
mod usage;

pub(crate) use row::{Body, Link, ResponseKind, Row};

pub(crate) const TAGS: &[(&str, &str)] = &[
    ("Turns", "Run, continue and cancel turns, and give feedback on them."),
    ("Sessions", "Read, search, edit, fork, delete, export and import sessions, and read their turns."),
    (
        "Agents",
        "Read, write and roll back agents, conversation contexts and modes. For operators and agent editors.",
    ),
    ("Payloads", "Read the full requests, answers and files of turns."),
    ("Usage", "Report what turns consumed, and limit it."),
];

/// Returns every operation.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    [
        turns::OPERATIONS,
        sessions::OPERATIONS,
        history::OPERATIONS,
        contexts::AGENTS,
        contexts::AGENT_ROLLOUT,
        contexts::CONVERSATION_CONTEXTS,
        contexts::CONVERSATION_CONTEXT_ROLLOUT,
        contexts::MODES,
        payloads::OPERATIONS,
        usage::OPERATIONS,
    ]
    .into_iter()
    .flatten()
}
