//! The index of sessions: a separate collection with a point per session, which holds hashed terms and no text.
//!
//! `layout.rs` has the collection and its points, `query.rs` the search; both are pure. [`SessionPoints`] is the
//! adapter of the ports that search, index and purge sessions.

mod layout;
mod query;
mod session_points;

pub use layout::MAX_CANDIDATES;
pub use session_points::{SessionIndexTimeouts, SessionPoints};
