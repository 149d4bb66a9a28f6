//! Spending of a turn on model calls so far, as its head shows it while no outcome object does.
//!
//! A provider tells the usage of a call at its end. A call that is cut off has none, so its usage is estimated: the
//! request as composed, and the output as received. Every figure covers the whole turn up to its time. Of several
//! figures of a turn, the greatest is the latest.

use contracts::Usage;
use serde::{Deserialize, Serialize};

use crate::{
    cost::{Amount, Cost},
    price::{Prices, cost},
    purge::ProviderResponseRef,
};

/// Token counts, and the part of them that is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MeteredUsage {
    /// The counts, as the provider told them or estimated.
    pub usage: Usage,
    /// The estimated part of the total tokens. Zero if the provider told all of them.
    pub estimated_tokens: u64,
}

/// Usage that is estimated because its call was cut off, and that a provider may still tell: it stores the response.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct PendingUsage {
    /// The response.
    #[serde(flatten)]
    pub response: ProviderResponseRef,
    /// The estimate of its usage, which is part of the turn's figure.
    pub estimate: MeteredUsage,
    /// The prices of its model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
}

/// Spending of a turn so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Spent {
    /// The tokens.
    pub usage: Usage,
    /// The estimated part of the total tokens.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub estimated_tokens: u64,
    /// The number of model calls, one in flight included.
    pub model_calls: u32,
    /// The cost. Absent without prices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
    /// True if the cost lacks tokens of a model without a price.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cost_is_partial: bool,
    /// The model of the last call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// The estimate that the last call's provider may replace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pending: Option<Box<PendingUsage>>,
    /// True if no attempt will tell a later figure, and only the provider may.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_told: bool,
    /// True if the figure never changes again: the last attempt stopped and told it, or is dead, and no provider is asked.
    #[serde(skip)]
    pub is_final: bool,
}

impl MeteredUsage {
    /// Creates counts that the provider told.
    #[must_use]
    pub fn told(usage: Usage) -> Self {
        Self { usage, estimated_tokens: 0 }
    }

    /// Creates estimated counts.
    #[must_use]
    pub fn estimated(prompt_tokens: u64, completion_tokens: u64) -> Self {
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        let usage = Usage { prompt_tokens, completion_tokens, total_tokens, ..Usage::default() };
        Self { usage, estimated_tokens: total_tokens }
    }

    /// Adds other counts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            usage: self.usage.saturating_add(other.usage),
            estimated_tokens: self.estimated_tokens.saturating_add(other.estimated_tokens),
        }
    }
}

impl Spent {
    /// Returns the later of two figures of the same turn, which is the greater one.
    #[must_use]
    pub fn later(self, other: Self) -> Self {
        let rank = |spent: &Self| (spent.usage.total_tokens, spent.model_calls, spent.pending.is_some());
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// Marks the figure as the last one that an attempt tells. It is final, unless a provider may tell a better one.
    #[must_use]
    pub fn into_told(self) -> Self {
        match self.pending {
            Some(_) => Self { is_told: true, is_final: false, ..self },
            None => self.into_final(),
        }
    }

    /// Marks the figure as the last one of its turn.
    #[must_use]
    pub fn into_final(self) -> Self {
        Self { pending: None, is_told: false, is_final: true, ..self }
    }

    /// Replaces the pending estimate by the usage that the provider tells. Zeros are no counts. The cost is rounded once
    /// more, so it may be off by a millionth.
    #[must_use]
    pub fn with_told(self, told: &Usage) -> Self {
        let Some(pending) = self.pending.clone().filter(|_| told.total_tokens > 0) else { return self };
        let PendingUsage { estimate: MeteredUsage { usage: estimate, estimated_tokens }, prices, .. } =
            *pending;
        let of =
            |usage: &Usage| cost(prices.as_ref(), usage).map_or(Amount::from_micros(0), |cost| cost.amount);
        let cost = self.cost.map(|before| {
            let amount = before.amount.minus(of(&estimate)).plus(of(told));
            Cost { amount, ..before }
        });
        Self {
            usage: self.usage.saturating_sub(estimate).saturating_add(*told),
            estimated_tokens: self.estimated_tokens.saturating_sub(estimated_tokens),
            cost,
            pending: None,
            ..self
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}
