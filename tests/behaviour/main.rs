//! Behaviour of the whole system: over HTTP, against the local cloud on free ports, with the real
//! functions in processes of their own. Laid out as the routes are; each test is a sentence.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test that can't go on has failed, and this is no library"
)]

mod bad_input;
mod cancel;
mod client_tools;
mod contexts;
mod crash;
mod execute;
mod finalize;
mod modes;
mod payloads;
mod restart;
mod server_tools;
mod sessions;
mod shapes;
mod storm;
mod support;
mod tenancy;
mod tool_results;
mod units;
