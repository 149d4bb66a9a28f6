//! Token prices and the cost of a turn.

use contracts::Usage;
use serde::{Deserialize, Serialize};

use crate::cost::{Amount, Cost};

const TOKENS_PER_PRICE: u128 = 1_000_000;

/// Prices per million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Prices {
    /// Input tokens.
    pub prompt_per_million: Amount,
    /// Input tokens read from the provider's cache. Absent: the price of other input tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cached_prompt_per_million: Option<Amount>,
    /// Input tokens written to the provider's cache. Absent: the price of other input tokens.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache_write_per_million: Option<Amount>,
    /// Output tokens, including reasoning tokens.
    pub completion_per_million: Amount,
    /// The currency's ISO 4217 code.
    pub currency: String,
}

/// Returns the cost of a turn's tokens, or none without prices or on overflow.
///
/// The result is rounded once, to the nearest millionth. A session's cost is the sum of its turns', since each turn
/// may have another model and other prices; it is off by at most half a millionth per turn.
#[must_use]
pub fn cost(prices: Option<&Prices>, usage: &Usage) -> Option<Cost> {
    let prices = prices?;
    let cached = usage.cached_tokens.unwrap_or(0).min(usage.prompt_tokens);
    let cache_writes = usage.cache_write_tokens.unwrap_or(0).min(usage.prompt_tokens - cached);
    let others = usage.prompt_tokens - cached - cache_writes;
    let or_prompt = |price: Option<Amount>| price.unwrap_or(prices.prompt_per_million);
    let total = [
        (others, prices.prompt_per_million),
        (cached, or_prompt(prices.cached_prompt_per_million)),
        (cache_writes, or_prompt(prices.cache_write_per_million)),
        (usage.completion_tokens, prices.completion_per_million),
    ]
    .into_iter()
    .try_fold(0u128, |sum, (tokens, price)| {
        sum.checked_add(u128::from(tokens).checked_mul(u128::from(price.micros()))?)
    })?;
    let rounded = total.checked_add(TOKENS_PER_PRICE / 2)? / TOKENS_PER_PRICE;
    Some(Cost {
        amount: Amount::from_micros(u64::try_from(rounded).ok()?),
        currency: prices.currency.clone(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prices(prompt: &str, cached: Option<&str>, completion: &str) -> Prices {
        Prices {
            prompt_per_million: prompt.parse().unwrap(),
            cached_prompt_per_million: cached.map(|amount| amount.parse().unwrap()),
            cache_write_per_million: None,
            completion_per_million: completion.parse().unwrap(),
            currency: "USD".to_owned(),
        }
    }

    fn usage(prompt: u64, cached: Option<u64>, completion: u64) -> Usage {
        Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: prompt.saturating_add(completion),
            cached_tokens: cached,
            cache_write_tokens: None,
            reasoning_tokens: None,
        }
    }

    fn amount(prices: &Prices, usage: &Usage) -> Option<String> {
        cost(Some(prices), usage).map(|cost| cost.amount.to_string())
    }

    #[test]
    fn cost_is_tokens_times_their_prices() {
        let table = prices("1.25", Some("0.125"), "10");
        assert_eq!(amount(&table, &usage(1_000_000, None, 1_000_000)).unwrap(), "11.25");
        assert_eq!(amount(&table, &usage(1_000, Some(600), 0)).unwrap(), "0.000575");
        let without_cache_price = prices("1.25", None, "10");
        assert_eq!(amount(&without_cache_price, &usage(1_000, Some(600), 0)).unwrap(), "0.00125");
        assert_eq!(cost(None, &usage(1, None, 1)), None);
    }

    #[test]
    fn cost_is_rounded_once_to_the_nearest() {
        let table = prices("0.5", None, "0.5");
        assert_eq!(amount(&table, &usage(1, None, 0)).unwrap(), "0.000001");
        assert_eq!(amount(&table, &usage(1, None, 1)).unwrap(), "0.000001");
        assert_eq!(amount(&prices("0.4", None, "0"), &usage(1, None, 0)).unwrap(), "0");
    }

    #[test]
    fn excess_cached_tokens_cost_no_more() {
        let table = prices("2", Some("1"), "0");
        assert_eq!(amount(&table, &usage(10, Some(u64::MAX), 0)), amount(&table, &usage(10, Some(10), 0)));
    }

    #[test]
    fn cache_writes_have_their_own_price() {
        let writes = |price: &str| Some(price.parse().unwrap());
        let table =
            Prices { cache_write_per_million: writes("1.5625"), ..prices("1.25", Some("0.125"), "10") };
        let cache_writes = |cached, cache_writes| Usage {
            cache_write_tokens: Some(cache_writes),
            ..usage(1_000, cached, 0)
        };
        assert_eq!(amount(&table, &cache_writes(Some(600), 400)).unwrap(), "0.0007");
        assert_eq!(
            amount(&table, &cache_writes(Some(600), u64::MAX)).unwrap(),
            "0.0007",
            "capped at the prompt tokens"
        );
        let without = prices("1.25", None, "10");
        assert_eq!(amount(&without, &cache_writes(None, 400)).unwrap(), "0.00125");
    }

    #[test]
    fn overflowing_amounts_have_no_cost() {
        let dear = prices("18446744073709", None, "18446744073709");
        assert_eq!(amount(&dear, &usage(u64::MAX, Some(u64::MAX), u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn any_usage_is_priced_without_panic(prompt: u64, cached: Option<u64>, completion: u64, price: u64) {
            let table = Prices {
                prompt_per_million: Amount::from_micros(price),
                cached_prompt_per_million: None,
                cache_write_per_million: None,
                completion_per_million: Amount::from_micros(price),
                currency: "EUR".to_owned(),
            };
            let _ = cost(Some(&table), &usage(prompt, cached, completion));
        }
    }
}
