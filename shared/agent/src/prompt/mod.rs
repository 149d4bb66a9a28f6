//! The prompt: its sections, its changeable parts, and the composition of the next model request.

pub(crate) mod block;
pub mod compose;
pub mod prompt_state;
