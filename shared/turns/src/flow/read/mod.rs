//! Reads sessions, turns and payloads as the caller may see them. Nothing here changes the table.

pub(super) mod documents;
pub(super) mod export;
pub(super) mod lists;
mod mode_history;
pub(super) mod payload_access;
mod projection;
mod search;
pub(super) mod session_reader;
pub(super) mod sessions;
mod turn_history;
mod turn_records;
pub(super) mod turn_snapshot;
mod turns;
pub(super) mod usage;
