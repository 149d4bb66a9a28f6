//! Changes of an org's budgets.

use contracts::request::Budgets;
use protocol::Caller;

use crate::flow::{
    access,
    admin::{budget_prices, context_edits::Precondition, document_edits::must_replace},
    entity_tag::with_entity_tag,
    write::{self, ReadBack, Tried, WriteOutcome},
};
use crate::{
    ports::{AgentDeps, Meter, MeterReads, StoredBudgets},
    refusal::Refusal,
};

/// Replaces the budgets of the caller's org. The same budgets again change nothing, so that a repeated request
/// succeeds.
///
/// # Errors
/// If the caller isn't an operator, the budgets aren't in the required state, or one of money can't count an agent.
pub async fn replace_budgets(
    deps: &impl AgentDeps,
    caller: &Caller,
    mut budgets: Budgets,
    required: &Precondition,
) -> Result<Budgets, Refusal> {
    access::require_operator(caller)?;
    let named = budgets.etag.take();
    let (store, org) = (deps.store(), &caller.org);
    write::decide(deps.host(), || async {
        let before = store.stored_budgets(org).await?;
        if !must_replace("budgets", (&before.budgets, &budgets), named.as_ref(), required)? {
            return Ok(Tried::Done(()));
        }
        // Boxed: it reads every agent.
        Box::pin(budget_prices::check(deps, org, &budgets)).await?;
        let revision = before.revision.saturating_add(1);
        let after = StoredBudgets { revision, budgets: budgets.clone() };
        let write = || store.replace_budgets(org, &after);
        let read_back = || async { Ok(ReadBack::of(&store.stored_budgets(org).await?, &before, &after)) };
        let written = write::until_known(deps.host(), false, write, read_back).await?;
        if let WriteOutcome::Applied = written {
            access::audit_budgets(caller);
        }
        Ok::<_, Refusal>(written.done(()))
    })
    .await?;
    Ok(with_entity_tag(budgets))
}
