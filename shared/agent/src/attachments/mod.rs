//! The files and images that go to the model with a user turn.
//!
//! [`choose`] decides once, at the turn's start, which files go, and the decision is stored as the turn's
//! [`AgentSessionActiveFileRef`](contracts::read::AgentSessionActiveFileRef)s. [`Attachments::new`] depends only on the stored request and those refs. So a
//! takeover or a replay sends the same files, even if the limits have changed.
//!
//! A file goes complete or not at all: the model would take an unmarked excerpt for the file. Everything is stored
//! with the instruction, sent or not.

mod attach;
mod choose;
mod files_block;
mod kind;
mod names;
mod request_files;
#[cfg(test)]
mod tests;
mod warn;

pub use attach::{Attachments, estimated_tokens};
pub use choose::choose;
pub use names::{display_names, file_names, names_block};
pub use request_files::MAX_ATTACHMENT_BYTES;
pub use warn::warnings;
