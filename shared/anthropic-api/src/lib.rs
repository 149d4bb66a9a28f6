//! Anthropic's Messages API over the turns of the service: requests, messages, errors and streams, both ways.
//!
//! A message is a turn, or the part of a turn between two suspensions. A request brings its whole history, which
//! `histories` finds again; [`thread`] reads requests that name the previous message in its place. A member that the
//! service can't honour is refused in Anthropic's words. Deliberately absent: routes, and every rule of a turn.

pub mod error;
pub mod files;
pub mod http;
pub mod id;
pub mod message;
pub mod models;
pub mod rate_limits;
pub mod request;
mod stops;
pub mod stream;
pub mod thread;
pub mod tokens;
