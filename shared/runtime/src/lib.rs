//! The HTTP edge that all functions share: settings, telemetry, authentication and the shape of responses.
//!
//! Deliberately absent: rules about turns, and adapters. This crate knows only the contract and HTTP.

pub mod api;
mod base_path;
mod buffered;
pub mod caller;
pub mod concurrency;
pub mod correlation;
mod deadline;
pub mod dialect;
pub mod download;
pub mod form;
pub mod id_key;
mod invocation;
mod isolation;
pub mod keep_alive;
pub mod last_event;
mod memory;
mod message_responder;
pub mod negotiation;
mod nodelay_responder;
pub mod page_token;
pub mod path;
mod process;
pub mod query;
pub mod reply;
pub mod request_body;
mod routes;
mod span;
pub mod sqs;
pub mod stream;
pub mod tasks;
pub mod telemetry;
mod timing;
mod write_condition;

pub use caller::{AuthenticatedCaller, ClaimNames, LEFT_OUT_CLAIM, context_key};
pub use correlation::Correlation;
pub use invocation::Invocation;
pub use process::run;
pub use reply::{CachePolicy, IfNoneMatch, Reply};
pub use routes::OperationRoutes;
pub use span::record_turn;
pub use timing::timing;
pub use write_condition::{WriteCondition, refuse_conditions};
