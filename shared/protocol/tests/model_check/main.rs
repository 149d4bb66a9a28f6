//! The life of a turn, model-checked over the same transition code that runs in production.
//!
//! The model keeps what the table, the bucket and the queue hold, and for every process a small program
//! counter; each step is one effect of a flow. What a step decides comes from `protocol::transition`, under
//! which condition a write counts from `protocol::change`: no rule is written down twice. Between any two
//! effects a process may crash, a reply may be lost, a lease may run out under a live holder.
//!
//! [`holds`] exhausts the configurations and finds nothing; [`rules_out`] takes the rules of the protocol
//! out one at a time and each time finds a counterexample, so that none of them is there for nothing.
//!
//! Deliberately absent: HTTP, serialization and the ports' own behaviour (other tests hold those), and real
//! durations; a lease is one tick long.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]
// The test fails loudly on a broken assumption of its own, and it is run to read its figures.

mod cast;
mod check;
mod coverage;
mod holds;
mod model;
mod properties;
mod rules;
mod rules_out;
mod scene;
mod state;
mod step;
