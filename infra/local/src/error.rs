//! Failures of the local cloud.

use crate::lambda::InitError;
use crate::services::{self, provision, qdrant};
use crate::{data_folder, token};

/// A failure of the local cloud. One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API's port is not available.
    #[error("Can't listen on 127.0.0.1:{port}: {source}. Choose another port with --port.")]
    Port {
        /// The port.
        port: u16,
        /// The cause.
        source: std::io::Error,
    },
    /// A service does not start.
    #[error(transparent)]
    Service(#[from] services::Error),
    /// The data folder can't be used.
    #[error(transparent)]
    Data(#[from] data_folder::Error),
    /// A function process tried to start a local cloud. Without this check, a wrong executable that starts a local
    /// cloud instead of serving the function would start itself again without end.
    #[error("A function process must not start a local cloud. Is this the right executable?")]
    Nested,
    /// The functions' executable does not exist.
    #[error("Can't find the functions' executable {0}")]
    Executable(String),
    /// A listener or a log file can't be opened.
    #[error("Can't start the local cloud: {0}")]
    Io(#[from] std::io::Error),
    /// The table, the bucket or a queue can't be created.
    #[error(transparent)]
    Provision(#[from] provision::Error),
    /// A function does not start.
    #[error(transparent)]
    Init(#[from] InitError),
    /// Two routes of the gateway have the same path.
    #[error("Can't start the gateway: {0}")]
    Routes(#[from] matchit::InsertError),
    /// A token can't be signed.
    #[error(transparent)]
    Token(#[from] token::Error),
    /// The vector database can't be built or started.
    #[error(transparent)]
    Qdrant(#[from] qdrant::Error),
    /// A sweep can't be sent.
    #[error("Can't send a sweep: {0}")]
    Sweep(Box<dyn std::error::Error + Send + Sync>),
}
