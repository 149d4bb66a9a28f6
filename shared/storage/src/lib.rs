//! Adapters to DynamoDB, S3 and SQS, which implement the ports of `turns`, and to Secrets Manager.
//!
//! [`key`] is the catalogue of every key. This crate evaluates no rule of its own: a change arrives with its
//! condition and is translated into an expression. Deliberately absent: retries beyond the SDK's own, since only the
//! flows know which calls are safe to retry.

pub mod clients;
pub mod credentials;
mod failure;
mod http;
mod item;
pub mod key;
mod knowledge_contents;
mod objects;
mod org_secrets;
mod prewarm;
mod queue;
mod sdk_config;
mod secrets;
mod table;
mod uploads;

pub use clients::{Clients, Settings, load_table};
pub use http::loopback_client;
pub use item::is_unreadable;
pub use objects::{ObjectEntry, Objects};
pub use org_secrets::{ConnectionSecretStore, WebhookSecretStore};
pub use prewarm::Prewarmed;
pub use queue::{KnowledgeQueue, Queue, TurnQueue, WebhookQueue};
pub use sdk_config::load_sdk_config;
pub use secrets::Secrets;
pub use table::Table;
pub use uploads::{Upload, UploadContent, Uploads};
