//! The flows of a turn. Each reads state, decides with a pure transition of `protocol`, writes conditionally, and
//! retries if another writer was faster.
//!
//! The [`Executor`] hands a turn over. `start` claims it: it begins a new one, takes over a dead one, resumes a
//! suspended one, or replays a stored answer. `run` works on it while it holds the lease: it composes requests, calls
//! the model and runs server tools. `finish` stores the outcome and settles the turn. Later
//! [`finalize_turn`] publishes the details and makes the turn terminal, and [`write_title`] may name a session after its
//! first one.
//!
//! `read` shows sessions and turns, from the evidence that `finish` loads. `admin` changes sessions at a user's
//! request. `webhooks` delivers the events of finished turns. All of them build on `write`: conditional writes with a read-back. Modules depend on each other in one
//! direction: executor, start, run, finish; and read and admin on finish.

mod access;
mod admin;
mod ancestry;
mod due;
mod executor;
mod finish;
mod invocation;
mod limits;
mod meter;
mod owned_turn;
mod read;
mod retrieval;
mod run;
mod spending;
mod start;
mod stored_request;
mod webhooks;
mod write;

pub use access::{context_id, require_context_editor, require_operator};
pub use admin::approvals::{list_approvals, read_approval};
pub use admin::connections::{set_connection_secret, try_tool};
pub use admin::documents::{
    NewDocument, Precondition, delete_context, import_context, put_document, remove_context, roll_back,
    roll_out,
};
pub use admin::effects::{list_unknown_effects, resolve_effect};
pub use admin::export_reader::IdPolicy;
pub use admin::fork::{fork_session, fork_warning};
pub use admin::import::{import_sessions, restore_session};
pub use admin::indexing::{backfill_index, index_session};
pub use admin::notices::SessionPolicy;
pub use admin::purge::{External, purge_session, sweep_purges};
pub use admin::refresh::refresh_connection;
pub use admin::session_edits::{SessionOperation, change_session, change_session_if, session_entity_tag};
pub use admin::turns::{CancelOutcome, abandon_turn, cancel_turn, settle_turn, submit_feedback};
pub use executor::Executor;
pub use finish::finalize::{Finalized, finalize_turn};
pub use finish::sweep::{SweepSummary, sweep_turns};
pub use finish::titles::{Titles, has_titles, write_title};
pub use invocation::Invocation;
pub use protocol::budget::{RateLimit, RateLimits};
pub use protocol::transition::begin::Snapshot as StartRead;
pub use read::documents::{list_contexts, read_document, read_version, read_versions};
pub use read::export::{ExportError, ExportPage, ExportWriter, PayloadMode, export_stream};
pub use read::lists::{SessionFilter, TurnFilter};
pub use read::payload_access::PayloadName;
pub use read::session_reader::{SessionReader, WithWarnings};
pub use read::sessions::TurnsPage;
pub use read::turn_snapshot::{DerivedSession, DerivedTurn, Suspension, TurnHead, TurnSnapshot};
pub use read::usage::UsageQuery;
pub use start::approvals::{GivenAnswer, answer_approval};
pub use start::prompt_tokens::prompt_tokens;
pub use start::turn_start::{RateLimitCell, StartConditions};
pub use webhooks::deliver::{Lanes, deliver_lane};
pub use webhooks::requests::{
    list_webhook_deliveries, read_webhook_status, replay_webhook, rotate_webhook_secret, test_webhook,
};
pub use webhooks::sweep::sweep_lanes;
