//! A Rust client for the API.
//!
//! [`Api::follow`] reads a turn's events until its result, across connections, and [`Api::call`] sends any other
//! request. Both retry the same request as long as that can help. This is safe, because requests are idempotent and
//! the model is called once.
//!
//! Deliberately absent: types of requests and responses. They are JSON, and the OpenAPI document has their schemas.

mod api;
mod backoff;
mod error;
mod follow;

pub use api::{Api, Request, Token};
pub use error::{ApiError, Error, Retry};
pub use follow::{Event, Position};
