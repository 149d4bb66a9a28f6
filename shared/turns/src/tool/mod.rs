//! Tools: what the model may call, and who runs it (AGN-011 §4, AGN-033 §5).

mod definition;

pub use definition::{Definition, ExecutedBy};
