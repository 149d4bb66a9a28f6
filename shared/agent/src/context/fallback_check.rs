//! Checks of the providers and fallbacks that a conversation context names.

use super::{ConversationContext, Fallback};
use crate::{
    fault::FaultCollector,
    model::{price::Prices, providers::DeclaredProvider},
};

/// Checks the provider and the fallbacks of a context.
pub(super) fn check(
    context: &ConversationContext,
    providers: &[DeclaredProvider],
    at: &str,
    faults: &mut FaultCollector,
) {
    check_provider(context.provider.as_ref(), providers, at, faults);
    check_settings(context, providers, at, faults);
    let mut earlier = vec![(context.provider.as_ref(), context.model_name.as_ref())];
    for (number, fallback) in context.fallbacks.iter().enumerate() {
        let at = format!("{at}.Fallbacks[{number}]");
        let Fallback { provider, model_name, prices } = fallback;
        check_provider(provider.as_ref(), providers, &at, faults);
        let target = (
            provider.as_ref().or(context.provider.as_ref()),
            model_name.as_ref().or(context.model_name.as_ref()),
        );
        faults.require(
            !earlier.contains(&target),
            &at,
            "must name a Provider or a ModelName that no earlier entry uses",
        );
        earlier.push(target);
        if let Some(prices) = prices {
            check_fallback_prices(prices, context.prices.as_ref(), &format!("{at}.Prices"), faults);
        }
    }
}

fn check_provider(
    provider: Option<&String>,
    providers: &[DeclaredProvider],
    at: &str,
    faults: &mut FaultCollector,
) {
    if let Some(provider) = provider {
        let names: Vec<&str> = providers.iter().map(|declared| declared.name.as_str()).collect();
        let available = match names.as_slice() {
            [] => "which has no named providers; add it to MODEL_PROVIDERS".to_owned(),
            names => format!("whose providers are: {}", names.join(", ")),
        };
        let what = format_args!("{provider:?} is not a provider of this deployment, {available}");
        faults.require(names.contains(&provider.as_str()), format!("{at}.Provider"), what);
    }
}

/// Checks that the wire of each provider that the context names can carry its settings. The deployment's default provider
/// isn't known here; a turn with it fails.
fn check_settings(
    context: &ConversationContext,
    providers: &[DeclaredProvider],
    at: &str,
    faults: &mut FaultCollector,
) {
    let settings = context.settings();
    let fallbacks = context.fallbacks.iter().filter_map(|fallback| fallback.provider.as_ref());
    let named: Vec<&String> = context.provider.iter().chain(fallbacks).collect();
    for DeclaredProvider { name, wire } in providers.iter().filter(|declared| named.contains(&&declared.name))
    {
        if let Some(setting) = wire.unsupported_setting(&settings) {
            let what = format_args!(
                "needs another provider than {name:?}, whose wire {} doesn't support it. Remove it, or change Provider or Fallbacks",
                wire.name()
            );
            faults.add(format!("{at}.{setting}"), what);
        }
    }
}

/// Checks a fallback's prices against the context's. They share a currency, since a turn's cost is the sum over its
/// models.
fn check_fallback_prices(prices: &Prices, first: Option<&Prices>, at: &str, faults: &mut FaultCollector) {
    match first {
        None => faults.add(at, "needs Prices of the context too, since a turn has one cost"),
        Some(first) => faults.require(
            first.currency == prices.currency,
            format!("{at}.Currency"),
            format_args!("must be {:?}, as in the context's Prices", first.currency),
        ),
    }
}
