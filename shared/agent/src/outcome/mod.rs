//! The outcome object: everything that an attempt produced, durable before the turn is settled (I4, I10).
//!
//! It is one JSON object under the attempt's own id. A takeover fences first, then looks for it and settles from it.
//! So an answer that reached storage is neither paid for twice nor lost.

pub mod answer;
mod ending;
mod json;
mod object;
pub mod provider_response;
mod response;

pub use ending::Ending;
pub use json::ReadError;
pub use object::Outcome;
pub use response::Response;
