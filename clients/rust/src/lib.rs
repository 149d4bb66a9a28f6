//! The API as a program in Rust uses it.
//!
//! [`Api::follow`] reads a turn's events until its result, over as many connections as it takes, and
//! [`Api::result`] asks for anything else. Both send the very same request again for as long as that can help:
//! the API takes no request twice, and asks the model once.
//!
//! Deliberately absent: what requests and answers hold. They are JSON, and the API's document has their schemas.

mod api;
mod error;
mod follow;
mod tries;

pub use api::{Api, Asked, Token};
pub use error::{Error, Refusal, Retry};
pub use follow::{Event, Position};
