//! Contexts: an operator's settings for the sessions of an organisation.
//!
//! An [`AgentContext`] is the agent: its name and the tools that its clients bring. A [`ConversationContext`] is how
//! it runs: model, prompt, limits, prices. A session's first turn binds it to one of each; [`ResolvedContext`] is
//! their result for one turn. Modes are stored and edited like contexts, so a [`Document`] may be one. Reading and storing contexts, and which session has which, live elsewhere.

mod agent;
mod check;
pub mod config;
mod conversation;
mod defaults;
mod document;
mod fallback;
mod fallback_check;
mod hosted_check;
mod id;
mod limits;
mod parse;
#[cfg(test)]
mod property_tests;
mod resolved;
mod restriction;
mod rollout;
mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod turn_options;
#[cfg(test)]
mod validation_tests;

pub use agent::AgentContext;
pub use conversation::{ConversationContext, PromptLimits, ToolsOnContinuation};
pub use defaults::{BUILT_IN_NAME, Defaults, built_in_agent_name, defaults};
pub use document::Document;
pub use fallback::Fallback;
pub use id::{ContextId, ContextKind};
pub use resolved::{ResolvedContext, deprecation_warning};
pub use restriction::{
    Restriction, check_disabled, check_files, check_model, check_route, named_price, require_approval,
};
pub use rollout::Rollout;
pub use rules::{DOCUMENT, Rules};
pub use schema::schema;
pub use turn_options::{MAX_OPTION_TOOLS, check_options};
