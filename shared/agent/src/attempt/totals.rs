//! The usage, cost and time of an attempt.

use std::{collections::BTreeMap, time::Duration};

use contracts::Usage;
use protocol::{
    cost::Cost,
    spent::{MeteredUsage, Spent},
    tool_use::ToolUse,
};
use serde::{Deserialize, Serialize};

use crate::model::{
    price::{Prices, cost},
    route::Route,
};

/// Totals of the turn's model calls and tools so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Totals {
    /// Number of model calls.
    pub model_calls: u32,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The part of the total tokens that is estimated, because the provider didn't tell it.
    #[serde(skip_serializing_if = "is_zero")]
    pub estimated_tokens: u64,
    /// The estimated input of the call that the next record accompanies. If the attempt dies, this call was made.
    #[serde(skip_serializing_if = "is_zero")]
    pub next_input_tokens: u64,
    /// The tokens of the last call, which the next one repeats if it continues from that response.
    #[serde(skip_serializing_if = "is_zero")]
    pub context_tokens: u64,
    /// The cost of the models before the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_before_fallback: Option<CostBeforeFallback>,
    /// The models' response times.
    #[serde(skip_serializing_if = "ModelTime::is_zero")]
    pub model_time: ModelTime,
    /// Total duration of the client's tools, in milliseconds.
    pub client_tool_ms: u64,
    /// Total duration of the server's tools, in milliseconds.
    pub server_tool_ms: u64,
    /// The calls of connections' tools by the names of the tools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolUse>,
}

/// The models' response times, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ModelTime {
    /// Total of all calls, retries included.
    pub total_ms: u64,
    /// Model time until the first text. `None` if there was no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_text_ms: Option<u64>,
}

impl ModelTime {
    /// True before the first model call.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the duration of a model call, and its time to the first text.
    fn add(&mut self, duration: Duration, first_text: Option<Duration>) {
        if self.first_text_ms.is_none() {
            self.first_text_ms = first_text.map(|time| self.total_ms.saturating_add(millis(time)));
        }
        self.total_ms = self.total_ms.saturating_add(millis(duration));
    }
}

/// The cost of the models before the current one, and the current model's usage since.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CostBeforeFallback {
    /// Their cost. `None` without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// True if the cost lacks tokens of a model without a price.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// Tokens that the current model used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_since: Option<Usage>,
}

/// Converts a duration to whole milliseconds, saturating.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the sum of two costs. The second doesn't count if it has another currency.
fn plus(sum: Option<Cost>, more: Option<&Cost>) -> Option<Cost> {
    match (sum, more) {
        (Some(sum), Some(more)) if sum.currency == more.currency => {
            Some(Cost { amount: sum.amount.plus(more.amount), ..sum })
        }
        (Some(sum), _) => Some(sum),
        (None, more) => more.cloned(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

fn sum_usage(before: Option<Usage>, now: Option<Usage>) -> Option<Usage> {
    match (before, now) {
        (Some(before), Some(now)) => Some(before.saturating_add(now)),
        (before, now) => before.or(now),
    }
}

impl Totals {
    /// Adds a model call: its usage, its duration, and its time to the first text.
    pub fn add_model_call(
        &mut self,
        metered: Option<MeteredUsage>,
        duration: Duration,
        first_text: Option<Duration>,
    ) {
        self.model_calls = self.model_calls.saturating_add(1);
        self.next_input_tokens = 0;
        if let Some(metered) = metered {
            self.context_tokens = metered.usage.total_tokens;
            self.add_usage(metered);
        }
        self.model_time.add(duration, first_text);
    }

    fn add_usage(&mut self, MeteredUsage { usage, estimated_tokens }: MeteredUsage) {
        self.usage = sum_usage(self.usage, Some(usage));
        self.estimated_tokens = self.estimated_tokens.saturating_add(estimated_tokens);
        if let Some(cost_before_fallback) = &mut self.cost_before_fallback {
            cost_before_fallback.usage_since = sum_usage(cost_before_fallback.usage_since, Some(usage));
        }
    }

    /// Adds what attempts before this one have spent since these totals, by calls that no record shows.
    pub fn add_lost_calls(&mut self, spent: &Spent) {
        self.next_input_tokens = 0;
        let (before, after) = (self.usage.unwrap_or_default(), spent.usage);
        if after.total_tokens > before.total_tokens {
            let estimated_tokens = spent.estimated_tokens.saturating_sub(self.estimated_tokens);
            self.add_usage(MeteredUsage { usage: after.saturating_sub(before), estimated_tokens });
        }
        self.model_calls = self.model_calls.max(spent.model_calls);
    }

    /// Returns what the turn has spent with the model of this route, the call that the record accompanies included.
    #[must_use]
    pub fn spent(&self, route: &Route) -> Spent {
        let mut all = self.clone();
        if self.next_input_tokens > 0 {
            all.add_model_call(
                Some(MeteredUsage::estimated(self.next_input_tokens, 0)),
                Duration::ZERO,
                None,
            );
        }
        Spent {
            usage: all.usage.unwrap_or_default(),
            estimated_tokens: all.estimated_tokens,
            model_calls: all.model_calls,
            cost: all.cost(route.prices.as_ref()),
            cost_is_partial: all.cost_is_partial(route.prices.as_ref()),
            model: Some(route.model.clone()).filter(|_| all.model_calls > 0),
            pending: None,
            is_told: false,
            is_final: false,
        }
    }

    /// Adds a call of a tool. `price` is that of a call that was performed, or may have been.
    pub fn add_tool_call(&mut self, tool: &str, price: Option<&Cost>) {
        let used = self.tools.entry(tool.to_owned()).or_default();
        used.calls = used.calls.saturating_add(1);
        used.cost = plus(used.cost.take(), price);
    }

    /// Returns the turn's cost so far: of tokens, each model at its own prices, and of tool calls. `prices` are the current
    /// model's. A turn has one currency, so tools with another one don't count.
    #[must_use]
    pub fn cost(&self, prices: Option<&Prices>) -> Option<Cost> {
        let tools = self.tools.values().filter_map(|used| used.cost.as_ref());
        tools.fold(self.model_cost(prices), |sum, cost| plus(sum, Some(cost)))
    }

    fn model_cost(&self, prices: Option<&Prices>) -> Option<Cost> {
        let of = |usage: Option<Usage>| usage.and_then(|usage| cost(prices, &usage));
        match &self.cost_before_fallback {
            None => of(self.usage),
            Some(CostBeforeFallback { cost, usage_since, .. }) => match (cost.clone(), of(*usage_since)) {
                (Some(before), Some(now)) => Some(Cost { amount: before.amount.plus(now.amount), ..before }),
                (before, now) => before.or(now),
            },
        }
    }

    /// True if [`cost`](Self::cost) lacks tokens of a model without a price.
    #[must_use]
    pub fn cost_is_partial(&self, prices: Option<&Prices>) -> bool {
        let has_tokens = |usage: Option<Usage>| usage.is_some_and(|usage| usage.total_tokens > 0);
        let is_unpriced = |usage: Option<Usage>| {
            has_tokens(usage) && usage.and_then(|usage| cost(prices, &usage)).is_none()
        };
        match &self.cost_before_fallback {
            None => is_unpriced(self.usage),
            Some(before) => before.is_partial || is_unpriced(before.usage_since),
        }
    }
}
