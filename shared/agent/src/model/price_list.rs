//! List prices of well-known models, which ship with the service as data. They hold for contexts without prices of their
//! own.

use std::{collections::BTreeMap, sync::LazyLock};

use protocol::cost::Amount;
use serde::Deserialize;
use serde_json::json;

use super::price::Prices;
use crate::members::{Fits, table};

table! {
    /// Token prices per million, as decimal numbers.
    impl Prices as "Prices" {
        /// Input tokens.
        prompt_per_million: Amount,
        /// Input tokens read from the provider's cache. Absent: the price of other input tokens.
        #[serde(default)]
        cached_prompt_per_million: Option<Amount>,
        /// Input tokens written to that cache. Absent: the price of other input tokens.
        #[serde(default)]
        cache_write_per_million: Option<Amount>,
        /// Output tokens, including reasoning tokens.
        completion_per_million: Amount,
        /// Its ISO 4217 code.
        currency: String = CURRENCY,
    }
}

const CURRENCY: Fits = Fits {
    schema: || json!({ "pattern": "^[A-Z]{3}$" }),
    fits: |code| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase()),
    fault: || "must be an ISO 4217 code such as USD".to_owned(),
};

/// The lists: publisher, source, date, currency, and prices by model.
const LISTS: &str = include_str!("../../data/prices.json");

/// The prices of one publisher's models. Other members of the data are for its readers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PriceList {
    currency: String,
    models: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

/// The prices by model. Parsed when the first context without prices is resolved. A test checks the data; without it, no
/// model has a list price.
static PRICES: LazyLock<BTreeMap<String, Prices>> = LazyLock::new(|| parse(LISTS).unwrap_or_default());

/// Returns the list price of a model, by its name, or by its name without the date of a snapshot, such as
/// `-2025-08-07` or `-20250929`.
#[must_use]
pub fn list_price(model: &str) -> Option<Prices> {
    PRICES.get(model).or_else(|| PRICES.get(without_date(model)?)).cloned()
}

/// Removes the date of a snapshot from the name of its model.
fn without_date(model: &str) -> Option<&str> {
    ["-00000000", "-0000-00-00"].iter().find_map(|pattern| {
        let (name, date) = model.split_at_checked(model.len().checked_sub(pattern.len())?)?;
        let shape = date.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        shape.eq(pattern.bytes()).then_some(name)
    })
}

fn parse(lists: &str) -> serde_json::Result<BTreeMap<String, Prices>> {
    let lists: Vec<PriceList> = serde_json::from_str(lists)?;
    let mut prices = BTreeMap::new();
    for PriceList { currency, models } in lists {
        for (model, mut members) in models {
            members.insert("Currency".to_owned(), currency.as_str().into());
            prices.insert(model, serde_json::from_value(members.into())?);
        }
    }
    Ok(prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_a_source_a_date_and_valid_prices() {
        let prices = parse(LISTS).unwrap();
        assert!(prices.values().all(|prices| prices.currency == "USD"));
        let cheaper = |prices: &Prices| {
            prices.cached_prompt_per_million.is_none_or(|cached| cached < prices.prompt_per_million)
                && prices.prompt_per_million < prices.completion_per_million
        };
        assert!(prices.values().all(cheaper), "{prices:?}");
        let lists: Vec<serde_json::Value> = serde_json::from_str(LISTS).unwrap();
        for list in &lists {
            assert!(list["Date"].as_str().unwrap().parse::<contracts::Day>().is_ok(), "{list}");
            assert!(list["Source"].is_string() && list["Publisher"].is_string(), "{list}");
        }
        let models = lists.iter().map(|list| list["Models"].as_object().unwrap().len());
        assert_eq!(models.sum::<usize>(), prices.len(), "each model is in one list");
    }

    #[test]
    fn snapshot_has_the_price_of_its_model_and_others_have_none() {
        for (model, priced_as) in [
            ("gpt-5-2025-08-07", Some("gpt-5")),
            ("gpt-5-mini-2025-08-07", Some("gpt-5-mini")),
            ("claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
            ("claude-sonnet-4-20250514", Some("claude-sonnet-4")),
            ("gpt-5-pro", None),
            ("gpt-5-2025", None),
            ("my-gpt-5", None),
            ("openai/gpt-5", None),
            ("2025-08-07", None),
            ("", None),
        ] {
            assert_eq!(list_price(model), priced_as.and_then(list_price), "{model}");
            assert_eq!(list_price(model).is_some(), priced_as.is_some(), "{model}");
        }
    }
}
