//! The local cloud: the whole system on one machine, with nothing but Rust installed.
//!
//! It runs the same function code as on AWS, under the real `lambda_runtime`, as separate processes that poll a
//! Lambda Runtime API. In front of them, a gateway speaks API Gateway events and streams replies. Behind them,
//! DynamoDB, S3 and SQS are servers that speak the real wire protocols. The `aptix` program and the integration tests
//! both start it with [`Cloud::start`].
//!
//! Deliberately absent: any logic of sessions and turns, and any isolation between functions, which share one
//! machine. Limits that clients and functions can run into (sizes, timeouts, concurrency) are the same as on AWS.

mod account;
pub mod aws_credentials;
pub mod call_proxy;
mod client_wait;
pub mod clients;
mod cloud;
pub mod console;
pub mod contexts;
pub mod data_folder;
pub mod dead_letters;
mod demo;
mod discovery;
mod disk_space;
mod docs;
mod endpoints;
mod environment;
mod error;
mod event_source;
mod file_descriptor_limit;
mod function;
mod function_process;
mod gateway;
pub mod gc;
mod http_server;
pub mod json_file;
mod lambda;
mod listener;
pub mod model_providers;
pub mod model_setup;
mod options;
pub mod preflight;
mod private_file;
mod programs;
mod queues;
pub mod registry;
pub mod sam_env;
pub mod secret;
mod service_keys;
mod services;
pub mod sources;
mod stores;
mod sweep_timer;
pub mod token;
pub mod usage_keys;
pub mod verify;

pub use cloud::Cloud;
pub use demo::demo;
pub use discovery::NotRunning;
pub use endpoints::Endpoints;
pub use environment::MANAGED_SETTINGS;
pub use error::Error;
pub use function::Function;
pub use function_process::run as run_function;
pub use lambda::InitError;
pub use llm::signing_scope;
pub use options::{Data, Logs, Model, ModelCheck, ModelSetup, Oidc, Options, ProviderChoice, Vectors};
pub use queues::{Error as QueueError, QueueReport, QueueUrls, Queues};
pub use service_keys::ServiceKeys;
pub use stores::{Resources, Stores, Unreachable};
