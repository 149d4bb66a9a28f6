//! The engine: reads the stored state, lets `protocol` decide, writes the decision, and runs the agent in between.
//!
//! [`flow`] has one file per use case and reaches the outside world only through [`ports`]. [`stream`] is a turn's
//! answer while it is written. [`view`] maps state to the API's read models. Deliberately absent: AWS, HTTP, the
//! provider's wire format, and any clock or randomness that doesn't come through a port.

mod approval_view;
pub mod checkpoint;
pub mod document_view;
pub mod flow;
mod folded_text;
pub mod ports;
pub mod refusal;
mod step_view;
pub mod stream;
pub mod system;
pub mod text_search;
pub mod view;
