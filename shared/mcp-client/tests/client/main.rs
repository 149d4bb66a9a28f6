//! The client against a server that counts what arrives.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod calls;
mod revisions;
mod server;
