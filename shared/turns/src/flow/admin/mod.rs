//! Changes sessions at a user's request: cancel, edit, fork, import, feedback, purge and indexing.

pub(super) mod cancel;
mod document_check;
pub(super) mod export_reader;
pub(super) mod feedback;
pub(super) mod fork;
pub(super) mod import;
mod index_notice;
pub(super) mod indexing;
mod ownership_wait;
pub(super) mod purge;
pub(super) mod session_edits;
