//! Usage of an org or a user.

use serde::{Deserialize, Serialize};

use super::Cost;
use crate::{day::Day, usage::Usage};

/// The property by which usage is grouped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum UsageGrouping {
    /// The day on which turns ended, in UTC.
    #[default]
    Day,
    /// The user who sent the turns.
    User,
    /// The agent context of their sessions.
    Agent,
    /// The model that answered.
    Model,
}

impl UsageGrouping {
    /// Every grouping, the default first.
    pub const ALL: [Self; 4] = [Self::Day, Self::User, Self::Agent, Self::Model];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Model => "model",
        }
    }
}

/// The usage of the turns that ended in a range of days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct UsageReport {
    /// First day, in UTC.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub from: Day,
    /// Last day, in UTC.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
    pub to: Day,
    /// Property by which the usage is grouped.
    pub by: UsageGrouping,
    /// Groups with usage: days in order, others by `TotalTokens`, most first.
    pub groups: Vec<UsageGroup>,
    /// Number of groups that are omitted because the report would be too large. They are part of `Total`.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub omitted_groups: u64,
    /// Usage of all groups.
    pub total: UsageGroup,
    /// Calls of connections' tools, those with the most calls first, at most 500. `Costs` of `Total` include their price.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tools: Vec<ToolUsage>,
}

/// The usage of a group of turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct UsageGroup {
    /// Day, or id of the user, agent or model. Absent for the total, and for turns that no model answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// Number of turns.
    pub turns: u64,
    /// Number of those turns that completed.
    pub completed_turns: u64,
    /// Number of model calls.
    pub model_calls: u64,
    /// Total duration of the turns' model calls, in milliseconds. Divided by `Turns`, it is the mean of a turn.
    pub model_ms: u64,
    /// Tokens.
    pub usage: Usage,
    /// Number of those turns that used tokens of a model without a price. `Costs` lack these tokens.
    #[serde(default)]
    pub unpriced_turns: u64,
    /// Estimated part of `TotalTokens`: of calls that were cut off, or whose provider doesn't report usage. Absent if
    /// there is none.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub estimated_tokens: u64,
    /// Cost per currency.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub costs: Vec<Cost>,
}

/// The calls of a tool of a connection that its target got, or may have got. A call that the target refused has no price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ToolUsage {
    /// Name of the tool, as models call it: the connection's id, two underscores, and the tool's name.
    pub tool: String,
    /// Number of calls.
    pub calls: u64,
    /// Price of the calls per currency.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub costs: Vec<Cost>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
