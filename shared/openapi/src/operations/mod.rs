//! The HTTP API as tables: one row per operation, one file per subject.
//!
//! A row defines an operation's parameters, body, response and errors. Everything else in the document follows from
//! it.

mod history;
mod payloads;
mod row;
mod sessions;
mod turns;

pub(crate) use row::{Body, Link, ResponseKind, Row};

pub(crate) const TAGS: &[(&str, &str)] = &[
    ("Turns", "Run, continue and cancel turns, and give feedback on them."),
    ("Sessions", "Read, search, edit, fork, delete, export and import sessions, and read their turns."),
    ("Payloads", "Read the full requests, answers and files of turns."),
];

/// Returns every operation.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    [turns::OPERATIONS, sessions::OPERATIONS, history::OPERATIONS, payloads::OPERATIONS].into_iter().flatten()
}
