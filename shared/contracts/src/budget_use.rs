//! The use of an org's budgets.

use serde::{Deserialize, Serialize};

use crate::{request::Budget, timestamp::Timestamp};

/// The use of an org's budgets in their current windows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct BudgetUseReport {
    /// Currency of budgets with the unit `money`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub currency: Option<String>,
    /// Budgets, in the order of the org's.
    pub budgets: Vec<BudgetUse>,
}

/// The use of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct BudgetUse {
    /// The budget.
    pub budget: Budget,
    /// End of the current window. Absent with the windows `turn` and `concurrent`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_end_date: Option<Timestamp>,
    /// Meters, those nearest to the limit first. Empty with the window `turn`, and with the scope `session` unless the
    /// budget is for one session.
    pub meters: Vec<MeterUse>,
    /// Number of users or agents that are omitted because others used more.
    pub omitted_meters: u64,
}

/// The part of a limit that the turns of one subject have used. The limit compares the sum of `Used` and `Reserved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct MeterUse {
    /// Id of the user, agent or session. Absent with the scope `org`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub subject: Option<String>,
    /// Amount that ended turns used, in the unit of the budget.
    pub used: u64,
    /// Amount that is held for turns that haven't ended. A superseded turn keeps its share here.
    pub reserved: u64,
    /// Number of turns in the window whose cost the budget can't count, because their model has no price in its
    /// currency. Present for budgets of money.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unpriced_turns: Option<u64>,
}
