//! The tokens of an agent's own prompt and tools, for clients that count a request before they send it.

use agent::text::estimate_tokens;
use contracts::{id::AgentContextId, request::TurnOptions};
use protocol::{
    chain::HistoryOwner,
    id::SessionKey,
    session::{ContextPins, Contexts},
};

use crate::{
    flow::start::{
        settings::{effective_settings, first_contexts},
        turn_start::load_catalog,
    },
    ports::AgentDeps,
    refusal::Refusal,
};

/// Estimates the tokens of the system prompt and of all tools with which the first turn of a session would begin. The session
/// doesn't have to exist; its id decides on its part of a rollout.
///
/// # Errors
/// If the org has no such agent, the options name a model that it doesn't offer, or the store can't be read.
pub async fn prompt_tokens(
    deps: &impl AgentDeps,
    session: &SessionKey,
    agent: Option<AgentContextId>,
    options: &TurnOptions,
) -> Result<u64, Refusal> {
    let named = Contexts { agent, conversation: None, pins: ContextPins::default() };
    let contexts = first_contexts(deps.store(), session, &named, &deps.config().defaults).await?;
    let effective = effective_settings(deps, session, &contexts).await?;
    let effective =
        effective.with_options(Some(options)).map_err(|names| Refusal::not_offered("Model", &names))?;
    let catalog = load_catalog(deps, &session.org).await?;
    let mode = catalog.initial_mode(effective.initial_mode.as_deref()).key.as_str();
    let spec = deps.config().turn_spec(&effective, &catalog, mode, HistoryOwner::default());
    let tools = spec.tools.definitions.iter().map(|tool| {
        let schema = tool.parameters.to_string().len();
        tool.name.len().saturating_add(tool.description.len()).saturating_add(schema)
    });
    let texts = spec.prompt.parts.iter().map(String::len).chain([spec.prompt.system.len()]);
    let bytes = tools.chain(texts).fold(0, usize::saturating_add);
    Ok(estimate_tokens(u64::try_from(bytes).unwrap_or(u64::MAX)))
}
