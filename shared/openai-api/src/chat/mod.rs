//! Chat Completions over turns. A client sends its whole history each time, so the history has to be recognized.

mod history;
mod messages;
mod object;
mod request;
mod stream;
#[cfg(test)]
mod tests;

pub use history::{History, MAX_EQUAL, Point};
pub use object::Completion;
pub use request::ChatRequest;
pub use stream::ChatTranslator;
