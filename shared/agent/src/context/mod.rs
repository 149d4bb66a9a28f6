//! Contexts: an operator's settings for the sessions of an organisation.
//!
//! An [`AgentContext`] is the agent: its name and the tools that its clients bring. A [`ConversationContext`] is how
//! it runs: model, prompt, limits, prices. A session's first turn binds it to one of each; [`ResolvedContext`] is
//! their result for one turn. Reading and storing contexts, and which session has which, live elsewhere.

mod agent;
mod check;
pub mod config;
mod conversation;
mod defaults;
mod document;
mod fallback;
mod fallback_check;
mod hosted_check;
mod limits;
mod parse;
#[cfg(test)]
mod property_tests;
mod resolved;
mod schema;
#[cfg(test)]
mod tests;
mod turn_options;
#[cfg(test)]
mod validation_tests;

pub use agent::AgentContext;
pub use conversation::{Budgets, ConversationContext, ToolsOnContinuation};
pub use defaults::{BUILT_IN_NAME, Defaults, built_in_agent_name, defaults};
pub use document::Document;
pub use fallback::Fallback;
pub use parse::parse_documents;
pub use resolved::ResolvedContext;
pub use schema::schema;
pub use turn_options::{MAX_OPTION_TOOLS, check_options};
