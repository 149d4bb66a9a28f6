//! Changes sessions at a user's request: cancel, edit, fork, import, feedback and purge.

pub(in crate::flow) mod cancel;
pub(in crate::flow) mod feedback;
pub(in crate::flow) mod fork;
pub(in crate::flow) mod import;
pub(in crate::flow) mod indexing;
pub(in crate::flow) mod purge;
pub(in crate::flow) mod purged_ancestor;
pub(in crate::flow) mod session_edits;
