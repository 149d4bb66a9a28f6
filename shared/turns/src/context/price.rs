//! What tokens cost, in whole millionths of a currency unit: no fraction is ever lost to binary.

use std::{fmt, str::FromStr};

use contracts::Usage;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const MICROS_PER_UNIT: u64 = 1_000_000;
const DECIMALS: usize = 6;
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// What a million tokens cost.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Prices {
    /// Input tokens.
    pub prompt_per_million: Amount,
    /// Input tokens from the provider's cache; absent: they cost what the others do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cached_prompt_per_million: Option<Amount>,
    /// Output tokens, those of reasoning among them.
    pub completion_per_million: Amount,
    /// The currency's ISO 4217 code.
    pub currency: String,
}

/// What some tokens cost.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Cost {
    /// How much.
    pub amount: Amount,
    /// The currency's ISO 4217 code.
    pub currency: String,
}

/// An amount of money in millionths. On the wire a decimal string such as `"1.25"`; a JSON number is
/// read too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount(u64);

/// Why a string is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an amount such as \"1.25\", without a sign and with at most {DECIMALS} decimals")]
pub struct InvalidAmount;

/// What the tokens of a turn cost. None without prices, or when the tokens are
/// absurdly many.
///
/// Rounded once, to the nearest millionth. A session's cost is the sum of its turns', since each turn may
/// have had another model and other prices; it is off by at most half a millionth per turn.
#[must_use]
pub fn cost(prices: Option<&Prices>, usage: &Usage) -> Option<Cost> {
    let prices = prices?;
    let cached = usage.cached_tokens.unwrap_or(0).min(usage.prompt_tokens);
    let uncached = usage.prompt_tokens - cached;
    let cached_price = prices.cached_prompt_per_million.unwrap_or(prices.prompt_per_million);
    let total = [
        (uncached, prices.prompt_per_million),
        (cached, cached_price),
        (usage.completion_tokens, prices.completion_per_million),
    ]
    .into_iter()
    .try_fold(0u128, |sum, (tokens, price)| {
        sum.checked_add(u128::from(tokens).checked_mul(u128::from(price.0))?)
    })?;
    let rounded = total.checked_add(TOKENS_PER_PRICE / 2)? / TOKENS_PER_PRICE;
    Some(Cost { amount: Amount(u64::try_from(rounded).ok()?), currency: prices.currency.clone() })
}

impl Amount {
    /// An amount of so many millionths.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// This amount and another together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The amount in millionths.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }
}

impl FromStr for Amount {
    type Err = InvalidAmount;
    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        // A sign would pass the integer parser below.
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > DECIMALS {
            return Err(InvalidAmount);
        }
        let whole: u64 = whole.parse().map_err(|_| InvalidAmount)?;
        let micros: u64 = format!("{fraction:0<DECIMALS$}").parse().map_err(|_| InvalidAmount)?;
        let sum = whole.checked_mul(MICROS_PER_UNIT).and_then(|sum| sum.checked_add(micros));
        sum.map(Self).ok_or(InvalidAmount)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micros) = (self.0 / MICROS_PER_UNIT, self.0 % MICROS_PER_UNIT);
        if micros == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{micros:0>DECIMALS$}").trim_end_matches('0'))
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl de::Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an amount such as \"1.25\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, whole: u64) -> Result<Amount, E> {
        self.visit_str(&whole.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
        // The shortest decimal that reads as this number is what the operator wrote.
        self.visit_str(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prices(prompt: &str, cached: Option<&str>, completion: &str) -> Prices {
        Prices {
            prompt_per_million: prompt.parse().unwrap(),
            cached_prompt_per_million: cached.map(|amount| amount.parse().unwrap()),
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
            reasoning_tokens: None,
        }
    }

    fn amount(prices: &Prices, usage: &Usage) -> Option<String> {
        cost(Some(prices), usage).map(|cost| cost.amount.to_string())
    }

    #[test]
    fn tokens_cost_what_the_table_says() {
        let table = prices("1.25", Some("0.125"), "10");
        assert_eq!(amount(&table, &usage(1_000_000, None, 1_000_000)).unwrap(), "11.25");
        assert_eq!(amount(&table, &usage(1_000, Some(600), 0)).unwrap(), "0.000575");
        let without_cache_price = prices("1.25", None, "10");
        assert_eq!(amount(&without_cache_price, &usage(1_000, Some(600), 0)).unwrap(), "0.00125");
        assert_eq!(cost(None, &usage(1, None, 1)), None);
    }

    #[test]
    fn a_cost_is_rounded_once_and_to_the_nearest() {
        let table = prices("0.5", None, "0.5");
        assert_eq!(amount(&table, &usage(1, None, 0)).unwrap(), "0.000001");
        assert_eq!(amount(&table, &usage(1, None, 1)).unwrap(), "0.000001");
        assert_eq!(amount(&prices("0.4", None, "0"), &usage(1, None, 0)).unwrap(), "0");
    }

    #[test]
    fn more_cached_tokens_than_tokens_cost_no_more() {
        let table = prices("2", Some("1"), "0");
        assert_eq!(amount(&table, &usage(10, Some(u64::MAX), 0)), amount(&table, &usage(10, Some(10), 0)));
    }

    #[test]
    fn absurd_amounts_have_no_cost() {
        let dear = prices("18446744073709", None, "18446744073709");
        assert_eq!(amount(&dear, &usage(u64::MAX, Some(u64::MAX), u64::MAX)), None);
    }

    #[test]
    fn amounts_are_decimal() {
        for (text, written) in [("0", "0"), ("1.250", "1.25"), ("0.000001", "0.000001"), ("007", "7")] {
            assert_eq!(text.parse::<Amount>().unwrap().to_string(), written);
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.0000001", "1 ", "18446744073710"] {
            assert!(text.parse::<Amount>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn numbers_and_strings_are_read_alike() {
        for json in ["\"0.1\"", "0.1", "1e-1"] {
            assert_eq!(serde_json::from_str::<Amount>(json).unwrap(), Amount(100_000), "{json}");
        }
        for json in ["-1", "-0.5", "1e30", "0.0000001", "null", "true", "[]"] {
            assert!(serde_json::from_str::<Amount>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn an_amount_survives_writing(micros: u64) {
            prop_assert_eq!(Amount(micros).to_string().parse(), Ok(Amount(micros)));
        }

        #[test]
        fn any_usage_has_a_cost_or_none(prompt: u64, cached: Option<u64>, completion: u64, price: u64) {
            let table = Prices {
                prompt_per_million: Amount(price),
                cached_prompt_per_million: None,
                completion_per_million: Amount(price),
                currency: "EUR".to_owned(),
            };
            let _ = cost(Some(&table), &usage(prompt, cached, completion));
        }
    }
}
