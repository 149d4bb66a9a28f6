//! Changes at a user's request: sessions and documents; cancel, edit, fork, import, feedback, purge and indexing.

pub(super) mod approvals;
pub(super) mod connections;
mod document_check;
pub(super) mod documents;
pub(super) mod effects;
pub(super) mod export_reader;
pub(super) mod fork;
pub(super) mod import;
pub(super) mod indexing;
mod item_check;
pub(super) mod notices;
mod price_check;
pub(super) mod purge;
pub(super) mod refresh;
pub(super) mod session_edits;
pub(super) mod turns;
