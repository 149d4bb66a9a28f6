//! Changes of an org's budgets.

use contracts::request::Budgets;
use protocol::Caller;

use crate::flow::{
    access,
    admin::{
        budget_prices,
        context_edits::Precondition,
        document_edits::{MAX_TRIES, is_replaced, must_replace},
    },
    entity_tag::with_entity_tag,
};
use crate::{
    ports::{AgentDeps, Meter, MeterReads, StoredBudgets},
    refusal::Refusal,
};

/// Replaces budgets.
#[derive(Debug, Clone)]
pub struct BudgetWriter<D> {
    deps: D,
}

impl<D: AgentDeps> BudgetWriter<D> {
    /// Creates a writer over these dependencies.
    #[must_use]
    pub fn new(deps: D) -> Self {
        Self { deps }
    }

    /// Replaces the budgets of the caller's org. The same budgets again change nothing, so that a repeated request
    /// succeeds.
    ///
    /// # Errors
    /// If the caller isn't an operator, the budgets aren't in the required state, or one of money can't count an agent.
    pub async fn replace(
        &self,
        caller: &Caller,
        mut budgets: Budgets,
        required: &Precondition,
    ) -> Result<Budgets, Refusal> {
        access::require_operator(caller)?;
        let named = budgets.etag.take();
        for _ in 0..MAX_TRIES {
            let before = self.deps.store().stored_budgets(&caller.org).await?;
            if must_replace("budgets", (&before.budgets, &budgets), named.as_ref(), required)? {
                // Boxed: it reads every agent.
                Box::pin(budget_prices::check(&self.deps, &caller.org, &budgets)).await?;
                let revision = before.revision.saturating_add(1);
                let after = StoredBudgets { revision, budgets: budgets.clone() };
                if !is_replaced(self.deps.store().replace_budgets(&caller.org, &after).await)? {
                    continue;
                }
                access::audit_budgets(caller);
            }
            return Ok(with_entity_tag(budgets));
        }
        Err(Refusal::Contended)
    }
}
