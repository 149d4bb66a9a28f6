//! What tests of the rooms share: in-memory ports, one way to inject faults, a seeded scheduler, the
//! invariants as one checker, and the conformance suite that every implementation of a port must pass.
//!
//! - [`memory`] implements the ports of `turns` exactly as its ports document them.
//! - [`schedule`] is virtual time: tasks that interleave at every port call, the same way for a seed.
//! - [`fault`] names the effects of a process and what can happen to each; [`faulty`] decorates a port, so that each of its effects can crash, fail, lose its reply, land
//!   late or be throttled.
//! - [`client`] runs tools, rightly and wrongly.
//! - [`deployment`] wires the flows over all of that, one simulated process per invocation.
//! - [`invariants`] judges what happened; [`simulation`] makes things happen.
//! - [`planted`] are bugs to be found, so that the checks are known to check.
//! - [`conformance`] holds in-memory and real adapters to the same meaning.
//!
//! Only tests depend on this room, so it may panic. Deliberately absent: a runtime, threads, real
//! clocks, real randomness.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code: a panic is a failed test, and its items are documented where a name is not enough"
)]

pub mod build;
pub mod client;
pub mod clock;
pub mod conformance;
pub mod deployment;
pub mod fault;
pub mod faulty;
pub mod invariants;
pub mod ledger;
pub mod memory;
pub mod model;
pub mod planted;
pub mod schedule;
pub mod simulation;
pub mod trace;
