//! Finishes turns: settles an outcome, publishes it, and recovers turns whose attempts died.

pub(in crate::flow) mod evidence;
pub(in crate::flow) mod finalize;
pub(in crate::flow) mod outcomes;
pub(in crate::flow) mod partial_answer;
pub(in crate::flow) mod salvage;
pub(in crate::flow) mod settle;
pub(in crate::flow) mod sweep;
pub(in crate::flow) mod turn_event;
