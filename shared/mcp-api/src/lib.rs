//! A server of the Model Context Protocol over the turns of the service: messages, tools and resources, both ways.
//!
//! Agents are tools, and sessions and turns are resources. Two eras of the protocol share one endpoint: since revision
//! 2026-07-28 each request names its version, and before that a client begins with `initialize`. No request depends on
//! an earlier one in either of them. Deliberately absent: routes, the reads of agents and sessions, and every rule of a
//! turn.

pub mod call;
pub mod era;
pub mod error;
mod header;
pub mod message;
mod object;
pub mod repetition;
pub mod resource;
pub mod server;
pub mod tool;

/// The path of the endpoint.
pub const PATH: &str = "/v1/mcp";
