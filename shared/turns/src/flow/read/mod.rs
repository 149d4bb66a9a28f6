//! Reads sessions, turns and payloads as the caller may see them. Nothing here changes the table.

pub(super) mod export;
pub(super) mod feedback;
pub(super) mod lists;
pub(super) mod payload_access;
pub(super) mod projection;
pub(super) mod search;
pub(super) mod search_walk;
pub(super) mod session_reader;
pub(super) mod turn_history;
pub(super) mod turn_steps;
