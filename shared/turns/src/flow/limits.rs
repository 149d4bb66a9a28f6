//! The limits of an org: its settings and budgets, and the turns for which they hold.
//!
//! A limit of an agent holds for its sessions. It also holds where a session reaches the agent's configuration without
//! the agent: by naming the conversation context that is the agent's default.

use std::sync::Arc;

use agent::{
    context::{ResolvedContext, Restriction, check_disabled},
    model::route::Route,
};
use contracts::{
    id::{ConversationContextId, OrgId, UserId},
    request::{BudgetAction, BudgetScope, Budgets, OrgSettings},
};
use futures::future::{join, try_join_all};
use protocol::{
    budget::{self, Subjects},
    id::SessionKey,
    session::Contexts,
};

use crate::flow::meter;
use crate::ports::{AgentEntry, Documents, TypedDocuments, Unavailable};

/// The limits of an org.
pub(crate) struct OrgLimits {
    /// The settings.
    pub(crate) settings: Arc<OrgSettings>,
    /// The budgets.
    pub(crate) budgets: Budgets,
}

impl OrgLimits {
    /// Reads the limits of an org.
    pub(crate) async fn load(store: &impl Documents, org: &OrgId) -> Result<Self, Unavailable> {
        let (settings, budgets) = join(store.org_settings(org), store.budgets(org)).await;
        Ok(Self { settings: settings?, budgets: budgets? })
    }

    /// True if the org has budgets, in which turns reserve.
    pub(crate) fn has_budgets(&self) -> bool {
        !self.budgets.budgets.is_empty()
    }

    /// Returns the subjects of a turn in a session with these contexts. Names and reads agents only if something limits
    /// them.
    pub(crate) async fn subjects(
        &self,
        store: &impl Documents,
        key: &SessionKey,
        user: &UserId,
        contexts: &Contexts,
    ) -> Result<Subjects, Unavailable> {
        let limits_agents = !self.settings.disabled.agents.is_empty()
            || self.budgets.budgets.iter().any(|budget| budget.scope == BudgetScope::Agent);
        let agents = match limits_agents {
            // Boxed: few orgs limit agents.
            true => Box::pin(agents(store, &key.org, contexts)).await?,
            false => Vec::new(),
        };
        Ok(Subjects { user: user.clone(), agents, session: key.session.clone() })
    }

    /// Requires that the org, the user and the agents of a turn aren't disabled.
    pub(crate) fn check_disabled(&self, subjects: &Subjects) -> Result<(), Restriction> {
        check_disabled(&self.settings.disabled, &subjects.user, &subjects.agents)
    }

    /// Requires that every budget of money that stops turns can count the model. Returns a warning for each one that only
    /// warns.
    pub(crate) fn check_prices(
        &self,
        subjects: &Subjects,
        effective: &ResolvedContext,
    ) -> Result<Vec<String>, Restriction> {
        let (mut stops, mut warns) = (None, Vec::new());
        for (action, restriction) in self.unpriced(subjects, &effective.route) {
            match action {
                BudgetAction::Stop => stops = stops.or(Some(restriction)),
                BudgetAction::Warn => warns.push(format!("{restriction}.")),
            }
        }
        stops.map_or(Ok(warns), Err)
    }

    /// Leaves out the fallbacks that a budget of money can't count.
    pub(crate) fn restrict(&self, subjects: &Subjects, mut effective: ResolvedContext) -> ResolvedContext {
        let is_stopped = |route: &Route| {
            self.unpriced(subjects, route).into_iter().any(|(action, _)| action == BudgetAction::Stop)
        };
        effective.fallbacks.retain(|route| !is_stopped(route));
        effective
    }

    /// Returns the restriction of each budget that can't count a model.
    fn unpriced(&self, subjects: &Subjects, route: &Route) -> Vec<(BudgetAction, Restriction)> {
        let found = route.prices.as_ref().map(|prices| prices.currency.as_str());
        let uncounted = budget::uncounted(&self.budgets, subjects, found).map(|budget| {
            let restriction = Restriction::Unpriced {
                budget: meter::name(&self.budgets, budget),
                model: route.model.clone(),
                currency: self.budgets.currency.clone().unwrap_or_default(),
                found: found.map(str::to_owned),
            };
            (budget.action, restriction)
        });
        uncounted.collect()
    }
}

/// Returns the agents whose limits hold for a session with these contexts: its own, and those whose configuration it
/// reaches without them.
pub(crate) async fn agents(
    store: &impl Documents,
    org: &OrgId,
    contexts: &Contexts,
) -> Result<Vec<String>, Unavailable> {
    let own = contexts.agent_id().to_owned();
    let Some(conversation) = &contexts.conversation else { return Ok(vec![own]) };
    if let Some(id) = &contexts.agent
        && let Some(agent) = store.agent_context(org, id).await?
        && agent.content.default_conversation_context_id.as_ref() == Some(conversation)
    {
        return Ok(vec![own]);
    }
    let owners = owners(store, org, conversation).await?;
    Ok(match owners.contains(&own) {
        true => vec![own],
        false => std::iter::once(own).chain(owners).collect(),
    })
}

/// Returns the agents whose default is a conversation context, in their live version or in one that is rolled out.
async fn owners(
    store: &impl Documents,
    org: &OrgId,
    conversation: &ConversationContextId,
) -> Result<Vec<String>, Unavailable> {
    let agents = store.agents(org, None, usize::MAX).await?;
    let owned = agents.into_iter().map(|AgentEntry { id, default_conversation, rollout, .. }| async move {
        let mut is_owner = default_conversation.as_ref() == Some(conversation);
        if let Some(rollout) = rollout.filter(|_| !is_owner) {
            let version = store.agent_version(org, &id, rollout.version).await?;
            let default = version.and_then(|version| version.default_conversation_context_id);
            is_owner = default.as_ref() == Some(conversation);
        }
        Ok::<_, Unavailable>(is_owner.then(|| id.to_string()))
    });
    Ok(try_join_all(owned).await?.into_iter().flatten().collect())
}
