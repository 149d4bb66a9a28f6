//! The engine: reads what is stored, has the `protocol` decide, writes, and runs the agent in between.
//!
//! [`flow`] has one file per subject and reaches the world through the [`ports`] alone; [`stream`] is a
//! turn's answer while it is written; [`view`] is how state looks to readers. Deliberately absent: AWS,
//! HTTP, the provider's wire, and any clock or randomness that does not come through a port.

pub mod checkpoint;
pub mod flow;
pub mod ports;
pub mod refusal;
mod step_view;
pub mod stream;
pub mod system;
pub mod terms;
pub mod view;
pub mod words;
