//! Checks a running turn against budgets before each model call after the first.

use agent::attempt::{Totals, TurnSpec};
use contracts::{
    id::BUILT_IN_CONTEXT,
    request::{BudgetScope, BudgetWindow, Budgets},
};
use protocol::{
    budget::{self, Amounts, Subjects},
    turn::Turn,
};

use crate::flow::{
    limits,
    meter::{self, ExceededBudget},
};
use crate::ports::{Deps, Reads, TypedDocuments, Unavailable};

/// Returns what a turn has used, whatever the currency of its cost.
pub(super) fn used(totals: &Totals, spec: &TurnSpec) -> Amounts {
    let tokens = totals.usage.map_or(0, |usage| usage.total_tokens);
    let micros = totals.cost(spec.route.prices.as_ref()).map_or(0, |cost| cost.amount.micros());
    Amounts { tokens, micros, unpriced: 0 }
}

/// Returns the budget that the next model call of a turn would exceed, if any. Within its reservation, a turn reads
/// nothing of the table.
pub(super) async fn check(
    deps: &impl Deps,
    turn: &Turn,
    spec: &TurnSpec,
    reserved: &mut Amounts,
    (used, next): (Amounts, Amounts),
) -> Result<Option<ExceededBudget>, Unavailable> {
    let budgets = deps.store().budgets(&turn.key.session.org).await?;
    if budgets.budgets.is_empty() {
        return Ok(None);
    }
    let currency = spec.route.prices.as_ref().map(|prices| &prices.currency);
    let counted = |amounts: Amounts| match currency == budgets.currency.as_ref() {
        true => amounts,
        false => Amounts { micros: 0, ..amounts },
    };
    let (used, next) = (counted(used), counted(next));
    let subjects = subjects(deps, turn, &budgets).await?;
    if let Some(exceeded) = budget::exceeded_by_turn(&budgets, &subjects, used, next) {
        return Ok(Some(ExceededBudget::of_turn(&budgets, exceeded)));
    }
    let needed = used.plus(next);
    if needed.beyond(*reserved) == Amounts::default() {
        return Ok(None);
    }
    let exceeded = meter::raise(deps, &budgets, &subjects, turn, needed).await?;
    *reserved = reserved.max(needed);
    Ok(exceeded)
}

/// Returns the subjects of a turn. Its meters name the agents. Only a budget of single turns needs the session, since it
/// has no meter.
async fn subjects(deps: &impl Deps, turn: &Turn, budgets: &Budgets) -> Result<Subjects, Unavailable> {
    let needs_session = budgets.budgets.iter().any(|budget| {
        (budget.scope, budget.window) == (BudgetScope::Agent, BudgetWindow::Turn) && budget.subject.is_some()
    });
    let agents = match needs_session {
        true => {
            let session = deps.store().session(&turn.key.session).await?;
            let contexts = session.map(|session| session.contexts).unwrap_or_default();
            limits::agents(deps.store(), &turn.key.session.org, &contexts).await?
        }
        false => {
            let named: Vec<String> = turn.meters.iter().filter_map(|meter| meter.agent.clone()).collect();
            // Any agent has the budgets that are for each one.
            if named.is_empty() { vec![BUILT_IN_CONTEXT.to_owned()] } else { named }
        }
    };
    Ok(Subjects { user: turn.requested_by.clone(), agents, session: turn.key.session.session.clone() })
}
