//! Usage of an org: what its turns consumed, by day, user, agent and model.
//!
//! The transaction that makes a turn terminal adds its usage, so every turn counts exactly once. Model calls for titles
//! of sessions are added apart from turns.

use std::{cmp::Reverse, collections::BTreeMap};

use contracts::{
    Day, Timestamp, Usage,
    id::{OrgId, SessionId, UserId},
};

use crate::{
    cost::Cost,
    detail::Report,
    session::{Session, add_cost},
    spent::MeteredUsage,
    tool_use::ToolUse,
    turn::{Settlement, Turn, Verdict},
};

/// The properties by which usage is kept apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UsageKey {
    /// The org.
    pub org: OrgId,
    /// The day on which the turns ended.
    pub day: Day,
    /// The user who sent them.
    pub user: UserId,
    /// The agent context of their sessions.
    pub agent: String,
    /// The model that answered, or `None` if none did.
    pub model: Option<String>,
}

/// Declares the amounts of usage with a row per counter: its description, its member and its name in the store.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $counter:ident: $name:literal,)+) => {
        /// Amounts of usage.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct UsageAmounts {
            $($(#[doc = $doc])+ pub $counter: u64,)+
            /// The tokens.
            pub usage: Usage,
            /// The cost, with one entry per currency.
            pub costs: Vec<Cost>,
            /// The calls of connections' tools, by the names of the tools.
            pub tools: BTreeMap<String, ToolAmounts>,
        }

        impl UsageAmounts {
            /// The names of the counters in the store.
            pub const COUNTERS: &[&str] = &[$($name),+];

            /// Returns the counter with a name.
            pub fn counter(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $($name => Some(&mut self.$counter),)+
                    _ => None,
                }
            }

            /// Returns the counters with their names.
            pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($name, self.$counter)),+].into_iter()
            }

            /// Adds other amounts.
            #[must_use]
            pub fn plus(self, other: &Self) -> Self {
                Self {
                    $($counter: self.$counter.saturating_add(other.$counter),)+
                    usage: self.usage.saturating_add(other.usage),
                    costs: other.costs.iter().fold(self.costs, |costs, cost| add_cost(costs, Some(cost))),
                    tools: add_tools(self.tools, &other.tools),
                }
            }
        }
    };
}

/// The calls of a tool of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolAmounts {
    /// Their number.
    pub calls: u64,
    /// Their price, with one entry per currency.
    pub costs: Vec<Cost>,
}

/// The most tools of a turn that usage has apart: each is two attributes of an update.
const MAX_TOOLS: usize = 64;

/// Returns the calls of a turn's tools, of those with the most calls.
fn tools_of(report: &Report) -> BTreeMap<String, ToolAmounts> {
    let mut tools: Vec<(&String, &ToolUse)> = report.tools.iter().collect();
    tools.sort_by_key(|(_, used)| Reverse(used.calls));
    let amounts =
        |used: &ToolUse| ToolAmounts { calls: used.calls.into(), costs: used.cost.iter().cloned().collect() };
    tools.into_iter().take(MAX_TOOLS).map(|(name, used)| (name.clone(), amounts(used))).collect()
}

fn add_tools(
    mut sum: BTreeMap<String, ToolAmounts>,
    other: &BTreeMap<String, ToolAmounts>,
) -> BTreeMap<String, ToolAmounts> {
    for (name, amounts) in other {
        let tool = sum.entry(name.clone()).or_default();
        tool.calls = tool.calls.saturating_add(amounts.calls);
        let costs = std::mem::take(&mut tool.costs);
        tool.costs = amounts.costs.iter().fold(costs, |costs, cost| add_cost(costs, Some(cost)));
    }
    sum
}

counters! {
    /// The number of turns.
    turns: "Turns",
    /// The number of those that completed.
    completed: "Completed",
    /// The number of those that used tokens of a model without a price.
    unpriced: "Unpriced",
    /// The number of model calls.
    model_calls: "ModelCalls",
    /// The total duration of the turns' model calls, in milliseconds. Calls for titles have none.
    model_ms: "ModelMs",
    /// The part of the total tokens that is estimated, because the provider didn't tell it.
    estimated_tokens: "EstimatedTokens",
}

/// The usage of one turn, or of the model call for a session's title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageEntry {
    /// The properties of the turn.
    pub key: UsageKey,
    /// The turn's session, which spreads the writes of a busy user.
    pub session: SessionId,
    /// The amounts.
    pub amounts: UsageAmounts,
}

impl UsageEntry {
    /// Returns the usage of a settled turn.
    #[must_use]
    pub(crate) fn new(session: &Session, turn: &Turn, settlement: &Settlement, report: &Report) -> Self {
        let agent = session.contexts.agent_id();
        Self {
            key: UsageKey {
                org: turn.key.session.org.clone(),
                day: Day::from(settlement.at),
                user: turn.requested_by.clone(),
                agent: agent.to_owned(),
                model: report.model.clone(),
            },
            session: turn.key.session.session.clone(),
            amounts: UsageAmounts {
                turns: 1,
                completed: u64::from(matches!(settlement.verdict, Verdict::Completed { .. })),
                unpriced: u64::from(report.is_unpriced()),
                model_calls: report.model_calls.unwrap_or_default().into(),
                model_ms: report.model_ms.unwrap_or_default(),
                usage: report.usage.unwrap_or_default(),
                estimated_tokens: report.estimated_tokens,
                costs: report.cost.iter().cloned().collect(),
                tools: tools_of(report),
            },
        }
    }

    /// Returns the usage of the model call for the title of a session, which is part of no turn. It counts for user and
    /// agent of the session's first turn. The pair has its tokens and their cost.
    #[must_use]
    pub fn of_title(
        session: &Session,
        turn: &Turn,
        model: &str,
        (metered, cost): (MeteredUsage, Option<Cost>),
        at: Timestamp,
    ) -> Self {
        Self {
            key: UsageKey {
                org: turn.key.session.org.clone(),
                day: Day::from(at),
                user: turn.requested_by.clone(),
                agent: session.contexts.agent_id().to_owned(),
                model: Some(model.to_owned()),
            },
            session: turn.key.session.session.clone(),
            amounts: UsageAmounts {
                model_calls: 1,
                usage: metered.usage,
                estimated_tokens: metered.estimated_tokens,
                costs: cost.into_iter().collect(),
                ..UsageAmounts::default()
            },
        }
    }
}
