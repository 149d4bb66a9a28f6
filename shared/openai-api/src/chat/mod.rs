//! Chat Completions over turns. A client sends its whole history each time, so the history has to be recognized.

mod messages;
mod object;
mod request;
mod stream;
#[cfg(test)]
mod tests;

pub use object::Completion;
pub use request::ChatRequest;
pub use stream::ChatTranslator;
