//! The configuration of the functions: one list of settings and the code that reads them.
//!
//! A setting carries its own description, rule and default. So the reader, the error messages and
//! [docs/reference/settings.md](../../../docs/reference/settings.md) can't disagree. `template.yaml` passes each
//! function the settings that it reads (`tests/template.rs`).
//!
//! Deliberately absent: the types that the functions build from their settings.

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
pub use setting::{DefaultsTo, Optional, Presence, Required, SetBy, Setting, SettingInfo};
