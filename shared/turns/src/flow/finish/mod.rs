//! Finishes turns: settles an outcome, publishes it, and salvages turns whose attempts died.

pub(super) mod announcement;
pub(super) mod evidence;
pub(super) mod finalize;
pub(super) mod outcomes;
pub(super) mod partial_answer;
pub(super) mod partial_work;
pub(super) mod replay;
pub(super) mod report;
pub(super) mod salvage;
pub(super) mod settle;
pub(super) mod steps;
pub(super) mod sweep;
pub(super) mod titles;
pub(super) mod transition;
pub(super) mod turn_event;
