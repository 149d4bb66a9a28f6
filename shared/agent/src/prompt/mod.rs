//! The prompt: the conversation with a model, and the composition of the next request.

pub mod compose;
pub mod conversation;
