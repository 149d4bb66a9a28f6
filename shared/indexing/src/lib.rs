//! Indexing: keeps the vector database in step with a folder of sources.
//!
//! [`walk`] finds the files to index, [`document_text`] extracts the text of PDF and Office documents, [`secrets`] refuses those that may hold a secret, [`split`] cuts them at syntactic boundaries, [`run`] compares them with the
//! database, embeds new chunks and deletes old ones, and [`watch`] waits for changes. Points have the layout of the
//! crate `retrieval`, so that its search finds them.
//!
//! The next run continues an interrupted one: a file counts as indexed when all of its chunks are stored with its
//! hash. A run without changes only queries the database.
//!
//! Terminal output and search live elsewhere. A run reports its progress as [`run::Progress`].

pub mod document_text;
mod encoding;
pub mod language;
pub mod run;
pub mod secrets;
pub mod split;
pub mod walk;
pub mod watch;
