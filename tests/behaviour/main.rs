//! Behaviour of the whole system: over HTTP, against the local cloud on free ports, with the real
//! functions in processes of their own. Laid out as the routes are; each test is a sentence.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test that can't go on has failed, and this is no library"
)]

mod bad_input;
mod cancel;
mod chain;
mod client_tools;
mod contexts;
mod cost;
mod crash;
mod execute;
mod fallbacks;
mod feedback;
mod files;
mod finalize;
mod fork;
mod history;
mod history_summary;
mod hosted_tools;
mod indexing;
mod kept;
mod logs;
mod modes;
mod named_providers;
mod oidc;
mod payloads;
mod private_sessions;
mod provider_table;
mod providers;
mod reconcile;
mod rerun;
mod restart;
mod retrieval;
mod retrieval_key;
mod retrieved;
mod roles;
mod sample_events;
mod scale;
mod server_tools;
mod sessions;
mod shapes;
mod smoke_suite;
mod solution_context;
mod storm;
mod stream_clients;
mod stream_reattach;
mod streaming;
mod support;
mod tenancy;
mod tool_results;
mod traces;
mod units;
mod upkeep;
