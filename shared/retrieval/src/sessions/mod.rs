//! The index of sessions: a collection of its own, a point for each session, which holds terms and no text.
//!
//! `layout.rs` is what the collection and its points are, `sought.rs` how it is asked; both are pure. [`SessionPoints`] is
//! the adapter of the ports that search it, keep it and purge it.

mod layout;
mod session_points;
mod sought;

pub use layout::MOST_CANDIDATES;
pub use session_points::{SessionPoints, Wait};
