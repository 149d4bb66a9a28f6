//! Contexts: what an operator sets for the sessions of an organisation (DD-002A, DD-007).
//!
//! An [`AgentContext`] says who works: its name and the tools that its clients bring. A
//! [`ConversationContext`] says how: model, prompt, limits, prices. A session is bound to one of each
//! by its first turn; [`Effective`] is what a turn makes of them. Deliberately absent: reading and
//! storing them, and which session has which.

mod agent_context;
#[cfg(test)]
mod any_tests;
mod context_check;
mod context_schema;
mod conversation_context;
mod defaults;
mod document;
mod effective;
mod fallback;
mod fallback_check;
#[cfg(test)]
mod fault_tests;
mod hosted_check;
mod limits;
mod price;
#[cfg(test)]
mod tests;

pub use agent_context::AgentContext;
pub use context_schema::schema;
pub use conversation_context::{Budgets, ConversationContext, ToolsOnContinuation};
pub use defaults::{BUILT_IN_NAME, Defaults, defaults};
pub use document::{Document, parse_documents};
pub use effective::Effective;
pub use fallback::{Fallback, Route};
pub use price::{Prices, cost};
