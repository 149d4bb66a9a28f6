//! The flows of a turn. Each reads state, decides with a pure transition of `protocol`, writes conditionally, and
//! retries if another writer was faster.
//!
//! A turn passes through these files in this order. [`user_turn`](Executor::execute) claims the turn: it starts a new
//! one, takes over a dead one, or replays a stored answer. `setup` resolves the settings of a new turn. `attempt`
//! holds the lease while `agent_loop` calls the model with the requests that `compose` builds, and runs server tools.
//! `settle` stores the outcome and decides the turn. [`finalize`](Finalizer::finalize) publishes the details and
//! makes the turn terminal.
//!
//! The other entry points into the same loop are `tool_results` (a client resumes a suspended turn), `salvage` (an
//! attempt died), `replay` (the same request again) and `rerun` (a finished turn runs as a new one). All of them
//! build on `write` (conditional writes with a read-back) and `outcomes` (outcome objects).

mod access;
mod admin;
mod ancestry;
mod executor;
mod finish;
mod invocation;
mod owned_turn;
mod read;
mod retrieval;
mod run;
mod start;
mod stored_request;
mod write;

pub use access::require_operator;
pub use admin::cancel::{CancelOutcome, Canceler};
pub use admin::export_reader::IdPolicy;
pub use admin::feedback::FeedbackWriter;
pub use admin::fork::Forker;
pub use admin::import::Importer;
pub use admin::indexing::Indexer;
pub use admin::purge::Purger;
pub use admin::session_edits::{SessionEditor, SessionPolicy};
pub use executor::Executor;
pub use finish::finalize::Finalizer;
pub use finish::sweep::SweepSummary;
pub use invocation::Invocation;
pub use read::export::{ExportError, ExportPage, ExportWriter, PayloadMode, export_stream};
pub use read::lists::{SessionFilter, TurnFilter};
pub use read::payload_access::PayloadName;
pub use read::session_reader::SessionReader;
pub use read::sessions::TurnsPage;
pub use read::warnings::WithWarnings;
