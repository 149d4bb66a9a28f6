//! Finishes turns: settles an outcome, publishes it, and recovers turns whose attempts died.

pub(super) mod announcement;
pub(super) mod evidence;
pub(super) mod finalize;
pub(super) mod outcomes;
pub(super) mod partial_answer;
pub(super) mod salvage;
pub(super) mod settle;
pub(super) mod sweep;
pub(super) mod turn_event;
