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
mod agent_loop;
mod ancestry;
mod attempt;
mod cancel;
mod compaction;
mod compose;
mod evidence;
mod executor;
pub mod export;
mod fallback;
mod feedback;
mod finalize;
mod fork;
mod import;
mod indexing;
mod lists;
mod outcomes;
mod owned_turn;
mod partial_answer;
mod payload_access;
mod projection;
mod provider_capabilities;
mod purge;
mod purged_ancestor;
mod read;
mod replay;
mod rerun;
mod rerun_parent;
mod retrieve;
mod salvage;
mod search;
mod search_walk;
mod session_edits;
mod settle;
mod setup;
mod sweep;
mod tool_results;
mod turn_event;
mod turn_history;
mod turn_steps;
mod user_turn;
mod watch;
mod write;

pub use cancel::CancelOutcome;
pub use executor::{Executor, Invocation};
pub use finalize::Finalizer;
pub use import::IdPolicy;
pub use indexing::Indexer;
pub use lists::{SessionFilter, TurnFilter};
pub use purge::Purger;
pub use read::{PayloadName, SessionReader, TurnsPage, WithWarnings};
pub use sweep::SweepSummary;
