//! Changes at a user's request: sessions, contexts and budgets; cancel, edit, fork, import, feedback, purge and indexing.

pub(super) mod budgets;
pub(super) mod cancel;
pub(super) mod context_edits;
mod document_check;
pub(super) mod export_reader;
pub(super) mod feedback;
pub(super) mod fork;
pub(super) mod import;
pub(super) mod indexing;
mod item_check;
pub(super) mod notices;
pub(super) mod org_settings;
pub(super) mod purge;
mod session_check;
pub(super) mod session_edits;
