//! Usage of orgs: counters per day, user, agent and model.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::{
    error::BuildError,
    types::{AttributeValue, TransactWriteItem, Update},
};
use contracts::{
    Day, Usage,
    id::{OrgId, UserId},
};
use protocol::{
    cost::{Amount, Cost},
    usage::{ToolAmounts, UsageAmounts, UsageEntry, UsageKey},
};
use turns::ports::{Page, Unavailable};

use super::{
    RESOURCE, Table,
    read::{primary, text, unreadable},
};
use crate::{
    failure,
    item::{Attributes, Unreadable, VERSION, check_version},
    key::{self, Item},
};

/// The number of days for which usage is stored.
const RETENTION_DAYS: i64 = 800;

/// The prefix of the attributes with costs, which end with the currency.
const COST_PREFIX: &str = "Cost#";

/// The prefix of the attributes with the numbers of tools' calls, which end with the tool.
const TOOL_PREFIX: &str = "Tool#";

/// The prefix of the attributes with the prices of these calls, which end with the tool and the currency. Names of tools have
/// no `#`.
const TOOL_COST_PREFIX: &str = "ToolCost#";

impl Table {
    /// Adds a turn's usage to its counters.
    pub(super) fn add_usage(&self, entry: &UsageEntry) -> Result<TransactWriteItem, BuildError> {
        let UsageEntry { key, amounts, .. } = entry;
        let expires = key.day.plus(RETENTION_DAYS).start().as_millis() / 1_000;
        let texts = [("User", Some(key.user.as_str())), ("Agent", Some(key.agent.as_str()))];
        let texts = texts.into_iter().chain([("Model", key.model.as_deref())]);
        let texts =
            texts.filter_map(|(name, value)| Some((name.to_owned(), AttributeValue::S(value?.to_owned()))));
        let numbers = [("V", i64::from(VERSION)), ("ExpiresAt", expires)];
        let numbers = numbers.map(|(name, value)| (name.to_owned(), AttributeValue::N(value.to_string())));
        let mut names = HashMap::new();
        let mut values = HashMap::new();
        let mut sets = Vec::new();
        for (index, (name, value)) in texts.chain(numbers).enumerate() {
            sets.push(format!("#s{index} = :s{index}"));
            names.insert(format!("#s{index}"), name);
            values.insert(format!(":s{index}"), value);
        }
        let mut adds = Vec::new();
        for (index, (name, value)) in counters(amounts).into_iter().enumerate() {
            adds.push(format!("#a{index} :a{index}"));
            names.insert(format!("#a{index}"), name);
            values.insert(format!(":a{index}"), AttributeValue::N(value.to_string()));
        }
        let update = Update::builder()
            .table_name(&self.name)
            .set_key(Some(primary(&Item::Usage(entry))))
            .update_expression(format!("SET {} ADD {}", sets.join(", "), adds.join(", ")))
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .build()?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

impl Table {
    pub(super) async fn read_usage(
        &self,
        org: &OrgId,
        day: Day,
        user: Option<&UserId>,
        after: Option<String>,
    ) -> Result<Page<(UsageKey, UsageAmounts)>, Unavailable> {
        let partition = key::usage_partition(org, day);
        let start = after.map(|sk| {
            Attributes::from([
                ("PK".to_owned(), AttributeValue::S(partition.clone())),
                ("SK".to_owned(), AttributeValue::S(sk)),
            ])
        });
        let (condition, prefix) = match user {
            Some(user) => ("PK = :day AND begins_with(SK, :user)", Some(key::usage_prefix(user))),
            None => ("PK = :day", None),
        };
        let mut query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression(condition)
            .expression_attribute_values(":day", AttributeValue::S(partition))
            .set_exclusive_start_key(start);
        if let Some(prefix) = prefix {
            query = query.expression_attribute_values(":user", AttributeValue::S(prefix));
        }
        let page = query.send().await.map_err(|error| failure::unavailable(RESOURCE, error))?;
        let next = page.last_evaluated_key.as_ref().and_then(|last| text(last, "SK")).map(str::to_owned);
        let items = page.items.unwrap_or_default();
        let items = items.iter().map(|item| parse(item, org, day).map_err(unreadable));
        Ok(Page { items: items.collect::<Result<_, _>>()?, next })
    }
}

/// Returns the counters of some amounts. Tokens that the provider doesn't report have none, nor has what didn't occur.
fn counters(amounts: &UsageAmounts) -> Vec<(String, u64)> {
    let usage = &amounts.usage;
    let tokens = [
        ("PromptTokens", Some(usage.prompt_tokens)),
        ("CompletionTokens", Some(usage.completion_tokens)),
        ("TotalTokens", Some(usage.total_tokens)),
        ("CachedTokens", usage.cached_tokens),
        ("CacheWriteTokens", usage.cache_write_tokens),
        ("ReasoningTokens", usage.reasoning_tokens),
    ];
    let tokens = tokens.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let counters = amounts.counters().filter(|(_, count)| *count > 0).chain(tokens);
    let counters = counters.map(|(name, value)| (name.to_owned(), value));
    let costs = amounts.costs.iter();
    let costs = costs.map(|cost| (format!("{COST_PREFIX}{}", cost.currency), cost.amount.micros()));
    let tools = amounts.tools.iter().flat_map(|(tool, ToolAmounts { calls, costs })| {
        let of_currency =
            move |cost: &Cost| (format!("{TOOL_COST_PREFIX}{tool}#{}", cost.currency), cost.amount.micros());
        std::iter::once((format!("{TOOL_PREFIX}{tool}"), *calls)).chain(costs.iter().map(of_currency))
    });
    counters.chain(costs).chain(tools).collect()
}

fn parse_tools(item: &Attributes) -> BTreeMap<String, ToolAmounts> {
    let mut tools: BTreeMap<String, ToolAmounts> = BTreeMap::new();
    for (name, value) in item {
        let Some(value) = number(value) else { continue };
        if let Some(tool) = name.strip_prefix(TOOL_PREFIX) {
            tools.entry(tool.to_owned()).or_default().calls = value;
        } else if let Some((tool, currency)) =
            name.strip_prefix(TOOL_COST_PREFIX).and_then(|rest| rest.split_once('#'))
        {
            let cost = Cost { amount: Amount::from_micros(value), currency: currency.to_owned() };
            tools.entry(tool.to_owned()).or_default().costs.push(cost);
        }
    }
    for tool in tools.values_mut() {
        tool.costs.sort_by(|one, other| one.currency.cmp(&other.currency));
    }
    tools
}

fn parse(item: &Attributes, org: &OrgId, day: Day) -> Result<(UsageKey, UsageAmounts), Unreadable> {
    check_version(item)?;
    let number = |name: &str| item.get(name).and_then(number);
    let user = text(item, "User").and_then(|user| UserId::new(user).ok()).ok_or(Unreadable::Lacks("User"))?;
    let costs = item.iter().filter_map(|(name, value)| {
        let currency = name.strip_prefix(COST_PREFIX)?.to_owned();
        Some(Cost { amount: Amount::from_micros(self::number(value)?), currency })
    });
    let mut costs: Vec<Cost> = costs.collect();
    costs.sort_by(|one, other| one.currency.cmp(&other.currency));
    let key = UsageKey {
        org: org.clone(),
        day,
        user,
        agent: text(item, "Agent").ok_or(Unreadable::Lacks("Agent"))?.to_owned(),
        model: text(item, "Model").map(str::to_owned),
    };
    let mut amounts = UsageAmounts {
        usage: Usage {
            prompt_tokens: number("PromptTokens").unwrap_or_default(),
            completion_tokens: number("CompletionTokens").unwrap_or_default(),
            total_tokens: number("TotalTokens").unwrap_or_default(),
            cached_tokens: number("CachedTokens"),
            cache_write_tokens: number("CacheWriteTokens"),
            reasoning_tokens: number("ReasoningTokens"),
        },
        costs,
        tools: parse_tools(item),
        ..UsageAmounts::default()
    };
    for name in UsageAmounts::COUNTERS {
        if let (Some(counter), Some(count)) = (amounts.counter(name), number(name)) {
            *counter = count;
        }
    }
    Ok((key, amounts))
}

fn number(value: &AttributeValue) -> Option<u64> {
    value.as_n().ok()?.parse().ok()
}
