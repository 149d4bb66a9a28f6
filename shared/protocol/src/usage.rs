//! Usage of an org: what its turns consumed, by day, user, agent and model.
//!
//! The transaction that makes a turn terminal adds its usage, so every turn counts exactly once. Model calls for titles
//! of sessions are added apart from turns.

use contracts::{
    Day, Timestamp, Usage,
    id::{OrgId, SessionId, UserId},
};

use crate::{
    cost::Cost,
    detail::Report,
    session::{Session, add_cost},
    spent::MeteredUsage,
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

/// Amounts of usage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageAmounts {
    /// The number of turns.
    pub turns: u64,
    /// The number of those that completed.
    pub completed: u64,
    /// The number of those that used tokens of a model without a price.
    pub unpriced: u64,
    /// The number of model calls.
    pub model_calls: u64,
    /// The total duration of the turns' model calls, in milliseconds. Calls for titles have none.
    pub model_ms: u64,
    /// The tokens.
    pub usage: Usage,
    /// The part of the total tokens that is estimated, because the provider didn't tell it.
    pub estimated_tokens: u64,
    /// The cost, with one entry per currency.
    pub costs: Vec<Cost>,
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
            },
        }
    }
}

impl UsageEntry {
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

impl UsageAmounts {
    /// Adds other amounts.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            completed: self.completed.saturating_add(other.completed),
            unpriced: self.unpriced.saturating_add(other.unpriced),
            model_calls: self.model_calls.saturating_add(other.model_calls),
            model_ms: self.model_ms.saturating_add(other.model_ms),
            usage: self.usage.saturating_add(other.usage),
            estimated_tokens: self.estimated_tokens.saturating_add(other.estimated_tokens),
            costs: other.costs.iter().fold(self.costs, |costs, cost| add_cost(costs, Some(cost))),
        }
    }
}
