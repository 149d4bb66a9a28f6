//! What every function shares at its edge: settings, telemetry, who calls, and how answers look.
//!
//! Deliberately absent: any rule about turns, and any adapter. It knows the contract and HTTP alone.

pub mod api;
pub mod caller;
pub mod correlation;
pub mod document;
pub mod last_event;
pub mod late;
pub mod page_token;
pub mod path;
pub mod plain;
mod process;
mod prompt;
pub mod query;
pub mod reply;
pub mod request_body;
mod span;
pub mod stream;
pub mod telemetry;
mod timing;
mod whole;

pub use caller::{ClaimNames, Identified};
pub use correlation::Correlation;
pub use process::run;
pub use reply::{IfNoneMatch, Keep, Reply};
pub use timing::timing;
