//! The wiring of the functions that run turns: `execute` and `tool-continuation`.
//!
//! A resumed turn runs exactly like a new one, so both functions build the same [`app::App`] and respond through
//! [`respond::respond`]. Routes and decisions about turns are out of scope.

pub mod app;
pub mod respond;
pub mod sources;
