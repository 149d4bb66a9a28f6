//! Parts that all protocol fronts share: the agents that a client may choose, the members of a request, the outcome of a turn,
//! its delivery in one piece or as a stream, and the headers of its limits.
//!
//! A front translates a protocol into turns and back. [`Form`] and [`Translator`] are its side of a delivery.
//! Deliberately absent: the names of any protocol, routes, and every rule of a turn.

mod agents;
mod delivery;
mod envelope;
mod form;
mod json;
mod members;
mod outcome;
mod rate_limits;
mod status;

pub use agents::{BUILT_IN_AGENTS, OfferedAgent, OwnAgents, allows_agent, offered};
pub use delivery::{begun, deliver, live, refused, replay, streamed};
pub use envelope::from_envelope;
pub use form::{Form, Translator};
pub use json::{bytes, json};
pub use members::{MemberError, Members};
pub use outcome::{Outcome, Status};
pub use rate_limits::{LimitHeaders, with_rate_limits};
pub use status::client_status;
