//! The local cloud: the whole system on one machine, with nothing but Rust installed.
//!
//! The same function code as on AWS, under the real `lambda_runtime`, as separate processes that poll
//! a Lambda Runtime API; in front of them a gateway that speaks API Gateway events and streams
//! replies; behind them DynamoDB, S3 and SQS as servers that speak the wire of the real ones. The
//! `aptix` program and the integration tests start the very same thing, with [`Cloud::start`].
//!
//! Deliberately absent: any logic of sessions and turns, and any isolation between functions, which
//! share one machine. Limits that clients and functions can run into (sizes, timeouts, concurrency)
//! are those of AWS.

pub mod bench;
mod cloud;
pub mod console;
pub mod contexts;
pub mod data_folder;
mod demo;
pub mod docs;
mod endpoints;
mod environment;
mod event_source;
mod function_process;
mod gateway;
mod http_server;
mod lambda;
mod open_files;
mod options;
pub mod provider_trial;
mod quick_ack;
pub mod reconcile;
mod running;
pub mod sam_env;
mod services;
pub mod smoke;
pub mod sources;
mod sweep_timer;
pub mod token;

pub use cloud::{Cloud, Error};
pub use demo::demo;
pub use endpoints::Endpoints;
pub use environment::DECIDED_HERE;
pub use function_process::run as run_function;
pub use lambda::Function;
pub use options::{Data, Logs, Model, Oidc, Options, Vectors};

/// Where the API of the local cloud on a data folder is or was: whoever asks has to try.
#[must_use]
pub fn api_url(folder: &std::path::Path) -> Option<String> {
    running::endpoints(folder).ok().map(|endpoints| endpoints.api)
}
