//! Reads sessions, turns and payloads as the caller may see them. Nothing here changes the table.

pub mod export;
pub(in crate::flow) mod lists;
pub(in crate::flow) mod payload_access;
pub(in crate::flow) mod projection;
pub(in crate::flow) mod search;
pub(in crate::flow) mod search_walk;
pub(in crate::flow) mod session_reader;
pub(in crate::flow) mod turn_history;
pub(in crate::flow) mod turn_steps;
