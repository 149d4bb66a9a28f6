//! A model check of a turn's life, over the same transition code that runs in production.
//!
//! The model holds the contents of the table, the bucket and the queue, and a small program counter for every
//! process. Each step is one effect of a flow. A step's decision comes from `protocol::transition` and the condition
//! of its write from `protocol::change`, so no rule is written down twice. Between any two effects a process may
//! crash, a reply may be lost, or a lease may expire under a live holder.
//!
//! [`passing`] checks its configurations exhaustively and finds no violation. [`mutations`] disables the rules of the
//! protocol one at a time and finds a counterexample each time, which proves that every rule is needed.
//!
//! Deliberately absent: HTTP, serialization and the behaviour of the ports, which other tests cover, and real
//! durations. A lease is one tick long.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]
// The test panics on a broken assumption of its own, and its printed figures are part of its purpose.

mod check;
mod config;
mod coverage;
mod fixtures;
mod model;
mod mutations;
mod passing;
mod properties;
mod rules;
mod state;
mod step;
