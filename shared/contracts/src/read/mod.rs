//! Responses of the read API: sessions, turns, payloads and reports.
//!
//! These types hold data only. The code that fills them decides what the caller may see. An absent value is an
//! absent member, never null. Deliberately absent: server state (phase, owner, lease), except in [`TurnRecords`].

mod approval;
mod connection;
mod context;
mod cost;
mod effect;
mod export;
mod list;
mod payload;
mod purge;
mod ratings;
mod score;
mod search;
mod session;
mod status;
mod step;
mod turn;
mod turn_feedback;
mod turn_records;
mod usage_report;
mod webhook;

use serde::{Deserialize, Serialize};

// Whole modules, so that a new type needs no line here.
pub use approval::*;
pub use connection::*;
pub use context::*;
pub use cost::*;
pub use effect::*;
pub use export::*;
pub use list::*;
pub use payload::*;
pub use purge::*;
pub use ratings::*;
pub use score::*;
pub use search::*;
pub use session::*;
pub use status::*;
pub use step::*;
pub use turn::*;
pub use turn_feedback::*;
pub use turn_records::*;
pub use usage_report::*;
pub use webhook::*;

/// An id with a display text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct EntityHeader {
    /// The id.
    pub id: String,
    /// The display text.
    pub text: String,
}

impl EntityHeader {
    /// Creates a header from an id and its display text.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into() }
    }
}
