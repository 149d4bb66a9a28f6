//! Spending of a turn, as its attempt knows it at any moment. It survives the work, which is dropped when the turn
//! is lost.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent::{
    attempt::{Totals, TurnSpec},
    model::{CallMeter, Chain, Request, route::Route},
};
use protocol::{
    purge::ProviderResponseRef,
    spent::{PendingUsage, Spent},
};

/// The spending of an attempt's turn.
#[derive(Debug, Default)]
pub(crate) struct Spending(Mutex<Option<Account>>);

#[derive(Debug)]
struct Account {
    /// The totals of the calls that have ended.
    totals: Totals,
    /// The model of the next call, or of the call in flight.
    route: Route,
    /// The call in flight.
    in_flight: Option<CallInFlight>,
}

#[derive(Debug)]
struct CallInFlight {
    meter: CallMeter,
    /// The provider, if it may store the response.
    provider: Option<String>,
}

impl Spending {
    /// Records the totals between two calls.
    pub(crate) fn record(&self, totals: &Totals, spec: &TurnSpec) {
        *self.account() =
            Some(Account { totals: totals.clone(), route: spec.route.clone(), in_flight: None });
    }

    /// Begins a call: notes the estimated size of its request in the totals, for the record beside the call. Returns
    /// its meter. `provider` may store the response.
    pub(crate) fn begin_call(
        &self,
        totals: &mut Totals,
        spec: &TurnSpec,
        request: &Request,
        provider: Option<String>,
    ) -> CallMeter {
        let context = match request.chain {
            Chain::Initial { .. } => 0,
            // The provider adds what it has stored.
            Chain::Continues { .. } => totals.context_tokens,
        };
        totals.next_input_tokens = request.input_tokens().saturating_add(context).max(1);
        let meter = CallMeter::new(totals.next_input_tokens);
        let (totals, route) = (totals.clone(), spec.route.clone());
        let in_flight = Some(CallInFlight { meter: meter.clone(), provider });
        *self.account() = Some(Account { totals, route, in_flight });
        meter
    }

    /// Returns what the turn has spent if its attempt dies now. A call that is about to be sent counts.
    pub(crate) fn if_killed(&self) -> Option<Spent> {
        self.account().as_ref().map(|account| match account.metered() {
            Some(spent) => spent,
            None => account.totals.spent(&account.route),
        })
    }

    /// Returns what the turn has spent, now that its attempt has stopped. A call that was never sent costs nothing.
    pub(crate) fn at_stop(&self) -> Option<Spent> {
        self.account().as_ref().map(|account| {
            let unsent = || Totals { next_input_tokens: 0, ..account.totals.clone() }.spent(&account.route);
            account.metered().unwrap_or_else(unsent).into_told()
        })
    }

    fn account(&self) -> MutexGuard<'_, Option<Account>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    /// Returns what was spent with the call in flight, as far as its meter shows; none if nothing was sent.
    fn metered(&self) -> Option<Spent> {
        let CallInFlight { meter, provider } = self.in_flight.as_ref()?;
        let metered = meter.usage()?;
        let mut totals = self.totals.clone();
        totals.add_model_call(Some(metered), Duration::ZERO, None);
        let pending = provider.clone().zip(meter.pending()).map(|(provider, (response_id, estimate))| {
            let response = ProviderResponseRef { provider: Some(provider), response_id };
            Box::new(PendingUsage { response, estimate, prices: self.route.prices.clone() })
        });
        Some(Spent { pending, ..totals.spent(&self.route) })
    }
}
