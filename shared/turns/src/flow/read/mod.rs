//! Reads sessions, turns and payloads as the caller may see them. Nothing here changes the table.

mod budget_use;
pub(super) mod documents;
pub(super) mod export;
pub(super) mod export_writer;
mod feedback;
mod follow;
pub(super) mod lists;
mod mode_history;
pub(super) mod payload_access;
mod projection;
mod search;
mod search_walk;
pub(super) mod session_reader;
pub(super) mod sessions;
mod turn_history;
mod turn_records;
pub(super) mod turn_snapshot;
mod turn_steps;
mod turns;
pub(super) mod usage;
