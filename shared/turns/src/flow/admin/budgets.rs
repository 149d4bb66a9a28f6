//! Changes of an org's budgets.

use contracts::request::Budgets;
use protocol::Caller;

use crate::flow::access;
use crate::{
    ports::{Deps, Meter},
    refusal::Refusal,
};

/// Replaces budgets.
#[derive(Debug, Clone)]
pub struct BudgetWriter<D> {
    deps: D,
}

impl<D: Deps> BudgetWriter<D> {
    /// Creates a writer over these dependencies.
    #[must_use]
    pub fn new(deps: D) -> Self {
        Self { deps }
    }

    /// Replaces the budgets of the caller's org.
    ///
    /// # Errors
    /// If the caller isn't an operator.
    pub async fn replace(&self, caller: &Caller, budgets: Budgets) -> Result<Budgets, Refusal> {
        access::require_operator(caller)?;
        self.deps.store().put_budgets(&caller.org, &budgets).await?;
        access::audit_budgets(caller);
        Ok(budgets)
    }
}
