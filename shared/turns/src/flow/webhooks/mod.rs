//! Deliveries to webhooks: the body of an event, its delivery, the sweep of due lanes, and the requests of operators.

mod body;
pub(super) mod deliver;
pub(super) mod requests;
pub(super) mod sweep;
