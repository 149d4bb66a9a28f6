//! The flows: read, decide with a pure transition, write, and again if somebody else was faster.
//!
//! A turn's way through the files: [`user_turn`](Executor::execute) begins it as `setup` has it, an
//! attempt owns it, `work` asks the model what `compose` makes of it and runs tools, `settle` decides it,
//! [`finalize`](Finalizer::finalize) publishes it. `tool_results`, `salvage` and `replay` are the other
//! ways in; `write` and `outcomes` are what all of them stand on.

mod access;
mod attempt;
mod basis;
mod cancel;
mod compose;
mod current;
mod done;
mod executor;
pub mod export;
mod fallback;
mod feedback;
mod finalize;
mod fork;
mod import;
mod indexing;
mod inline;
mod learned;
mod line;
mod lists;
mod origin;
mod outcomes;
mod owned_turn;
mod partial;
mod purge;
mod read;
mod replay;
mod rerun;
mod retrieve;
mod salvage;
mod search;
mod search_walk;
mod settle;
mod setup;
mod steps;
mod sum_up;
mod sweep;
mod tool_results;
mod turn_event;
mod turn_steps;
mod upkeep;
mod user_turn;
mod watch;
mod work;
mod write;

pub use cancel::Cancelled;
pub use executor::{Executor, Invocation};
pub use finalize::Finalizer;
pub use import::Ids;
pub use indexing::Indexer;
pub use lists::{WantedSessions, WantedTurns};
pub use purge::Purger;
pub use read::{PayloadName, SessionReader, Told, TurnsPage};
pub use sweep::Swept;
