//! Shared test support: in-memory ports, fault injection, a seeded scheduler, an invariant checker, and the
//! conformance suite for ports.
//!
//! - [`memory`] implements the ports of `turns` exactly as documented.
//! - [`schedule`] is virtual time: tasks interleave at every port call, in the same way for a seed.
//! - [`fault`] lists the effects of a process and their faults. [`faulty`] decorates a port with faults: crashes, errors,
//!   lost replies, late effects and throttling.
//! - [`client`] runs client tools, correctly or wrongly.
//! - [`deployment`] wires the flows over all of that, one simulated process per invocation.
//! - [`invariants`] checks a run, and [`simulation`] drives one.
//! - [`planted_bugs`] tests the checks themselves.
//! - [`conformance`] tests in-memory and real adapters alike.
//!
//! Only tests depend on this crate, so it may panic. Deliberately absent: a runtime, threads, real clocks, real
//! randomness.
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
pub mod planted_bugs;
pub mod schedule;
pub mod simulation;
pub mod target;
pub mod trace;
