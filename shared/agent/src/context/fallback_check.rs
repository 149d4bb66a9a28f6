//! What has to hold for the providers and fallbacks that a conversation context names.

use super::{
    ConversationContext, Fallback, Prices, context_check,
    limits::{MAX_FALLBACKS, MAX_MODEL_NAME_CHARS},
};
use crate::{fault::Found, mode::wording::line};

/// Checks provider and fallbacks.
pub(super) fn of_context(context: &ConversationContext, providers: &[&str], at: &str, found: &mut Found) {
    declared(context.provider.as_ref(), providers, at, found);
    let count = context.fallbacks.len();
    found.unless(
        count <= MAX_FALLBACKS,
        format!("{at}.Fallbacks"),
        format_args!("must be at most {MAX_FALLBACKS}, not {count}"),
    );
    let mut before = vec![(context.provider.as_ref(), context.model_name.as_ref())];
    for (number, fallback) in context.fallbacks.iter().enumerate() {
        let at = format!("{at}.Fallbacks[{number}]");
        let Fallback { provider, model_name, prices } = fallback;
        declared(provider.as_ref(), providers, &at, found);
        if let Some(model) = model_name {
            line(model, MAX_MODEL_NAME_CHARS, &format!("{at}.ModelName"), found);
        }
        let asked = (
            provider.as_ref().or(context.provider.as_ref()),
            model_name.as_ref().or(context.model_name.as_ref()),
        );
        found.unless(
            !before.contains(&asked),
            &at,
            "must name a Provider or a ModelName that was not asked before it",
        );
        before.push(asked);
        if let Some(prices) = prices {
            self::prices(prices, context.prices.as_ref(), &format!("{at}.Prices"), found);
        }
    }
}

fn declared(provider: Option<&String>, providers: &[&str], at: &str, found: &mut Found) {
    if let Some(provider) = provider {
        let known = match providers {
            [] => "which has none with a name; declare it in MODEL_PROVIDERS".to_owned(),
            names => format!("whose providers are: {}", names.join(", ")),
        };
        let what = format_args!("{provider:?} is no provider of this deployment, {known}");
        found.unless(providers.contains(&provider.as_str()), format!("{at}.Provider"), what);
    }
}

/// A turn has one cost: what several models were paid is added up.
fn prices(prices: &Prices, first: Option<&Prices>, at: &str, found: &mut Found) {
    context_check::prices(prices, at, found);
    match first {
        None => found.add(at, "needs Prices of the context too, since a turn has one cost"),
        Some(first) => found.unless(
            first.currency == prices.currency,
            format!("{at}.Currency"),
            format_args!("must be {:?}, as in the context's Prices", first.currency),
        ),
    }
}
