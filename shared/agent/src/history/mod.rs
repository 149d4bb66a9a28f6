//! The earlier turns of a session, replayed when the provider doesn't store them.
//!
//! A replay has the system message from the start of the window, then every message and reply in order, then the new
//! message. Each request repeats the one before byte by byte, which is the key of a provider's prompt cache. What no
//! longer fits is dropped in blocks ([`HistoryWindow`](crate::attempt::history_window::HistoryWindow)).
//!
//! The module does no I/O and knows no wire format.

pub(crate) mod ancestry;
pub mod compaction;
mod exchange;
mod fit;
mod render;
pub mod snapshot;
#[cfg(test)]
mod tests;
mod walk;

pub use ancestry::estimate as ancestry_tokens;
pub use exchange::{Exchange, unanswered_block};
pub use render::{RenderTarget, RenderedHistory, render};
pub use walk::{AncestryWalk, LoadedHistory, Truncation};
