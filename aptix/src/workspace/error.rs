//! Failures of a tool call.

use std::io;

/// A failed tool call. The model sees the message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The path is outside the workspace.
    #[error("{0:?} is not a path inside the workspace; use a path relative to its root, without `..`")]
    Path(String),
    /// The file does not exist or can't be accessed.
    #[error("{path}: {why}")]
    File { path: String, why: String },
    /// The patch is invalid or does not apply.
    #[error("{0}")]
    Patch(String),
    /// The search pattern is invalid.
    #[error("the pattern is not a valid regular expression: {0}")]
    Pattern(String),
    /// The arguments don't match the tool's schema.
    #[error("invalid arguments for {tool}: {why}")]
    Arguments { tool: &'static str, why: String },
    /// There is no such tool.
    #[error("this client has no tool {0}")]
    Unknown(String),
}

/// Describes an I/O error without revealing a path of this machine.
pub(super) fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied, or outside the workspace".to_owned(),
        kind => kind.to_string(),
    }
}
