//! Changes at a user's request: sessions, contexts and budgets; cancel, edit, fork, import, feedback, purge and indexing.

mod budget_prices;
pub(super) mod budgets;
pub(super) mod cancel;
pub(super) mod context_edits;
mod document_check;
mod document_edits;
pub(super) mod export_reader;
pub(super) mod feedback;
pub(super) mod fork;
pub(super) mod import;
mod index_notice;
pub(super) mod indexing;
mod item_check;
pub(super) mod org_settings;
mod ownership_wait;
pub(super) mod purge;
mod session_check;
pub(super) mod session_condition;
pub(super) mod session_edits;
mod settlement;
