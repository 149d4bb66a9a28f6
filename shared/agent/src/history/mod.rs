//! History: a session's earlier turns as they are told again, where the provider can't be asked to
//! remember them.
//!
//! A conversation is told as the provider would have it: the system message that it began with, then every
//! message and reply in order, then what is new. So each request begins with the one before, to the byte,
//! which is what a provider's prompt cache goes by. What no longer fits goes in blocks ([`Window`](crate::window::Window)).
//!
//! Pure. Deliberately absent: reading the turns, and how a request spells them.

mod exchange;
mod fit;
mod telling;
#[cfg(test)]
mod tests;
mod walk;

pub use exchange::Exchange;
pub use telling::{Now, Telling, tell};
pub use walk::{Earlier, LeftOut, Walk};
