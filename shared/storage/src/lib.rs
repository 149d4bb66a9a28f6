//! Adapters to DynamoDB, S3 and SQS, the ports of `turns` spoken on the AWS wire, and to Secrets
//! Manager.
//!
//! [`key`] is the catalogue of every key there is. This room evaluates no rule of its own: a change
//! comes with its condition, and here it becomes an expression. Deliberately absent: retries beyond
//! the SDK's own, since only the flows know when trying again is safe.

mod ahead;
pub mod connect;
mod environment;
mod failure;
mod http;
mod item;
pub mod key;
mod objects;
mod queue;
mod secrets;
mod table;

pub use ahead::Ahead;
pub use connect::{Clients, Settings};
pub use http::loopback_client;
pub use objects::{Listed, Objects};
pub use queue::Queue;
pub use secrets::Secrets;
pub use table::Table;
