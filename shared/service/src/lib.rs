//! The wiring of the functions that work on turns: `execute` and `tool-continuation`.
//!
//! A turn that goes on runs exactly as one that starts, so both build the same [`app::App`] and answer
//! through [`answer::answer`]. Deliberately absent: routes, and every decision about a turn.

pub mod answer;
pub mod app;
pub mod sources;
