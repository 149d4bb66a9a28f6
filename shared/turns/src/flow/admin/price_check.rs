//! The check that budgets of money can count the org's agents.

use std::collections::{BTreeMap, BTreeSet};

use agent::{
    context::{AgentContext, ConversationContext, ResolvedContext, named_price},
    model::route::Route,
};
use contracts::{
    id::{AgentContextId, BUILT_IN_CONTEXT, ConversationContextId, OrgId},
    request::{Budget, BudgetScope, BudgetUnit, BudgetUnpriced, Budgets},
};
use futures::{StreamExt, TryStreamExt, stream};

use crate::{
    ports::{AgentDeps, LiveContext, TypedDocuments, Unavailable},
    refusal::Refusal,
};

/// The most agents whose contexts are read at once.
const MAX_CONCURRENT_READS: usize = 8;
/// The most agents that an error names.
const MAX_NAMED: usize = 5;

/// The models that the sessions of an agent may call first: that of its live version, and that of a rollout.
type Routes = BTreeMap<String, Vec<Route>>;

/// Requires that each budget of money can count the agents in its scope, unless it allows others.
///
/// # Errors
/// Names the budget, the agents and the fix.
pub(super) async fn check_prices(
    deps: &impl AgentDeps,
    org: &OrgId,
    budgets: &Budgets,
) -> Result<(), Refusal> {
    let is_checked =
        |budget: &Budget| budget.unit == BudgetUnit::Money && budget.unpriced == BudgetUnpriced::Refuse;
    if !budgets.budgets.iter().any(is_checked) {
        return Ok(());
    }
    let (routes, currency) = (routes(deps, org).await?, budgets.currency.as_deref().unwrap_or_default());
    for (index, budget) in budgets.budgets.iter().enumerate().filter(|(_, budget)| is_checked(budget)) {
        let in_scope = |agent: &str| match (budget.scope, &budget.subject) {
            (BudgetScope::Agent, Some(subject)) => subject == agent,
            _ => true,
        };
        let uncounted: BTreeSet<String> = routes
            .iter()
            .filter(|(agent, _)| in_scope(agent))
            .flat_map(|(agent, routes)| routes.iter().filter_map(move |route| lack(agent, route, currency)))
            .collect();
        if !uncounted.is_empty() {
            let names: Vec<String> = uncounted.iter().take(MAX_NAMED).cloned().collect();
            let more = match uncounted.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            return Err(Refusal::uncounted_agents(index, currency, &(names.join(", ") + &more)));
        }
    }
    Ok(())
}

/// Describes the price that an agent lacks.
fn lack(agent: &str, route: &Route, currency: &str) -> Option<String> {
    let found = route.prices.as_ref().map(|prices| &prices.currency);
    let price = || named_price(found, currency);
    (found.is_none_or(|found| found != currency))
        .then(|| format!("{agent} (its model {} has {})", route.model, price()))
}

/// Returns the models of the agents that the org may use: its own, and the built-in ones.
async fn routes(deps: &impl AgentDeps, org: &OrgId) -> Result<Routes, Unavailable> {
    let (store, defaults) = (deps.store(), &deps.config().defaults);
    let settings = store.org_settings(org).await?;
    let own = store.agents(org, None, usize::MAX).await?.into_iter().map(|agent| agent.id);
    let named = defaults.named_agents.iter().map(|agent| agent.id.clone());
    let agents: BTreeSet<AgentContextId> = own.chain(named).chain([AgentContextId::built_in()]).collect();
    let enabled = agents.into_iter().filter(|id| !settings.disabled.agents.contains(id));
    let routes = enabled.map(|id| async move {
        let mut routes = Vec::new();
        for agent in versions(deps, org, &id).await? {
            routes.extend(first_routes(deps, org, &agent).await?);
        }
        Ok((id.to_string(), routes))
    });
    stream::iter(routes.collect::<Vec<_>>()).buffer_unordered(MAX_CONCURRENT_READS).try_collect().await
}

/// Returns the versions of an agent that sessions use.
async fn versions(
    deps: &impl AgentDeps,
    org: &OrgId,
    id: &AgentContextId,
) -> Result<Vec<AgentContext>, Unavailable> {
    let (store, defaults) = (deps.store(), &deps.config().defaults);
    let Some(LiveContext { content, rollout }) = store.agent_context(org, id).await? else {
        let built_in = (id.as_str() == BUILT_IN_CONTEXT).then_some(&defaults.agent);
        return Ok(built_in.or_else(|| defaults.named_agent(id)).cloned().into_iter().collect());
    };
    let rolled_out = match rollout {
        Some(rollout) => store.agent_version(org, id, rollout.version).await?,
        None => None,
    };
    Ok(std::iter::once(content).chain(rolled_out).collect())
}

/// Returns the models of the conversation context that is an agent's default.
async fn first_routes(
    deps: &impl AgentDeps,
    org: &OrgId,
    agent: &AgentContext,
) -> Result<Vec<Route>, Unavailable> {
    let (store, config) = (deps.store(), deps.config());
    let resolve = |conversation: Option<&ConversationContext>| {
        let configured = (config.model.as_str(), config.conversation_state);
        ResolvedContext::resolve(Some(agent), conversation, &config.defaults, configured).route
    };
    let default = agent.default_conversation_context_id.as_ref();
    let Some(id) = default.filter(|id| **id != ConversationContextId::built_in()) else {
        return Ok(vec![resolve(None)]);
    };
    // Turns of an agent whose default is deleted are refused.
    let Some(LiveContext { content, rollout }) = store.conversation_context(org, id).await? else {
        return Ok(Vec::new());
    };
    let rolled_out = match rollout {
        Some(rollout) => store.conversation_version(org, id, rollout.version).await?,
        None => None,
    };
    Ok(std::iter::once(&content).chain(&rolled_out).map(|content| resolve(Some(content))).collect())
}
