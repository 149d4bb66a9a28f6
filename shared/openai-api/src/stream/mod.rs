//! The event stream of a response.

mod event;
#[cfg(test)]
mod tests;
mod translator;

pub use event::StreamEvent;
pub use translator::Translator;
