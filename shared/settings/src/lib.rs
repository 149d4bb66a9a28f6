//! What the functions are configured with: one list of settings, and how they are read.
//!
//! A setting says itself what it decides, what its value must be and what counts where it is left out, so reading it,
//! refusing it and [docs/settings.md](../../../docs/settings.md) can't disagree. `template.yaml` gives each function
//! the ones that it reads (`tests/template.rs`).
//!
//! Deliberately absent: what a setting is for. It knows no function's types.

mod env;
mod kind;
mod list;
mod page;
mod setting;
#[cfg(test)]
mod tests;

pub use env::{Env, Invalid};
pub use kind::{Count, Flag, Kind, Names, OneOf, Seconds, Text, Url};
pub use list::*;
pub use page::page;
pub use setting::{Absent, Described, Given, Needed, Nothing, Or, Setting};
