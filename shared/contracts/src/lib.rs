//! The wire contract: the requests that a client may send and the responses that it gets.
//!
//! The leaf crate: every other crate may depend on it, and it depends on none. A client could use it too.
//! Deliberately absent: I/O, AWS types, HTTP types, and the rules of a turn's life cycle, which are in `storage`,
//! `runtime` and `protocol`.

pub mod budget_use;
pub mod day;
pub mod encoding;
pub mod error;
pub mod gen_ai;
pub mod hash;
pub mod id;
pub mod invoke_result;
pub mod json_bytes;
pub mod knowledge;
pub mod log;
pub mod non_empty;
pub mod operations;
pub mod paths;
pub mod read;
pub mod request;
pub mod response;
pub mod schema;
pub mod stream;
#[cfg(feature = "openapi")]
mod string_schemas;
pub mod text;
pub mod timestamp;
pub mod usage;
pub mod webhook;

pub use budget_use::{BudgetUse, BudgetUseReport, MeterUse};
pub use day::Day;
pub use error::{Error, ErrorCode};
pub use hash::{ContentHash, FileAddress, Fingerprint};
pub use invoke_result::InvokeResult;
pub use non_empty::NonEmpty;
pub use request::{AgentExecuteRequest, ToolContinuation, UserTurn};
pub use response::AgentExecuteResponse;
pub use timestamp::Timestamp;
pub use usage::Usage;
