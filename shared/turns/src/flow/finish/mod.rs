//! Finishes turns: settles an outcome, publishes it, and salvages turns whose attempts died.

pub(super) mod approvals;
pub(super) mod effects;
pub(super) mod evidence;
pub(super) mod finalize;
pub(super) mod outcomes;
pub(super) mod partial;
pub(super) mod replay;
pub(super) mod settle;
pub(super) mod steps;
pub(super) mod sweep;
pub(super) mod titles;
pub(super) mod webhooks;
