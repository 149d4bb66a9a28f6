//! Writes titles of sessions: asks a model for a title once the first turn is final, by option of the org or of the
//! deployment.
//!
//! A session has an excerpt of its first instruction as its name, so nothing depends on a title, and every failure
//! leaves the excerpt. The call is claimed in the table before it is made. A repeated message never pays for a second
//! one, even if the first finalizer died.

use std::time::Duration;

use agent::{
    context::check_route,
    model::{
        CallMeter, Model, Observer, price::cost, price_list::list_price, providers::Providers, route::Route,
    },
    title,
};
use contracts::{
    error::causes,
    id::OrgId,
    request::{OrgSettings, TitleSettings},
};
use protocol::{id::TurnKey, session::Session, transition::titling, turn::Turn, usage::UsageEntry};

use crate::flow::{
    limits::OrgLimits,
    meter,
    write::{self, Tried},
};
use crate::ports::{Deps, Host, Reads, Store, TypedDocuments, Unavailable};

/// The longest time to wait for a title.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The model that writes titles, and the settings of a deployment that choose it.
#[derive(Debug)]
pub struct Titles<M> {
    /// The model. Its calls aren't retried.
    pub model: M,
    /// The providers of models.
    pub providers: Providers,
    /// The model for orgs whose settings leave it open.
    pub default: TitleSettings,
}

impl<M> Titles<M> {
    /// Returns the model that writes titles for an org with these settings, if it may.
    fn route(&self, settings: &OrgSettings) -> Option<Route> {
        let TitleSettings { model, provider } = settings.titles.as_ref().unwrap_or(&self.default).clone();
        let model = model?;
        let route = Route { provider, prices: list_price(&model), model };
        check_route(settings, &self.providers, &route).is_ok().then_some(route)
    }
}

/// True if sessions of an org get titles.
pub async fn has_titles<M>(deps: &impl Deps, titles: &Titles<M>, org: &OrgId) -> bool {
    match deps.store().org_settings(org).await {
        Ok(settings) => titles.route(&settings).is_some(),
        Err(error) => {
            tracing::warn!(
                org = org.as_str(),
                error = %causes(&error),
                "{}",
                contracts::log::TITLE_FAILED
            );
            false
        }
    }
}

/// Names the session of a finalized turn by a title, if the turn is its first and the org's settings allow it. Logs
/// a failure, which leaves the session's name.
pub async fn write_title(deps: &impl Deps, titles: &Titles<impl Model>, turn: &TurnKey) {
    if let Err(error) = try_write(deps, titles, turn).await {
        log_failure(turn, &causes(&error));
    }
}

async fn try_write(deps: &impl Deps, titles: &Titles<impl Model>, key: &TurnKey) -> Result<(), Unavailable> {
    let store = deps.store();
    let limits = OrgLimits::load(store, &key.session.org).await?;
    let Some(route) = titles.route(&limits.settings) else { return Ok(()) };
    let (Some(session), Some(turn)) = store.session_and_turn(key).await? else { return Ok(()) };
    if titling::claim(&session, &turn).is_none() || !is_allowed(deps, &limits, &session, &turn).await? {
        return Ok(());
    }
    let Some(record) = store.record(key).await? else { return Ok(()) };
    let Some(answer) = record.result.and_then(|result| result.report.answer_summary) else {
        return Ok(());
    };
    let (model, prices) = (route.model.clone(), route.prices.clone());
    let request = title::request(&turn, route, &record.request.instruction_summary, &answer);
    let Some(claimed) = claim(deps, &turn).await? else { return Ok(()) };

    let mut on_text = |_: &str| {};
    let meter = CallMeter::new(request.input_tokens());
    let mut observer = Observer::new(&mut on_text).with_meter(meter.clone());
    let reply = titles.model.reply(&request, MAX_WAIT, &mut observer).await;
    let title = match reply {
        Ok(reply) => title::title_from(&reply),
        Err(error) => {
            log_failure(key, &error);
            None
        }
    };
    let metered = meter.usage().unwrap_or_default();
    let used = (metered, cost(prices.as_ref(), &metered.usage));
    let usage = UsageEntry::of_title(&claimed, &turn, &model, used, deps.host().now());
    conclude(deps, &claimed, title.as_deref(), &usage).await
}

/// True unless the org, the user or the agent is disabled, or one of their budgets is used up.
async fn is_allowed(
    deps: &impl Deps,
    limits: &OrgLimits,
    session: &Session,
    turn: &Turn,
) -> Result<bool, Unavailable> {
    let (store, key) = (deps.store(), &turn.key.session);
    let subjects = limits.subjects(store, key, &turn.requested_by, &session.contexts).await?;
    if limits.check_disabled(&subjects).is_err() {
        return Ok(false);
    }
    let is_used_up = meter::is_used_up(deps, &limits.budgets, &turn.key, &subjects).await?;
    Ok(!is_used_up)
}

/// Claims the model call for the title of a turn's session. Returns the claimed session, or `None` if there is
/// nothing to claim.
///
/// # Errors
/// If the session stays contended, or it is unknown whether the claim was applied. It isn't read back, because a
/// claim that is found may be that of another finalizer.
async fn claim(deps: &impl Deps, turn: &Turn) -> Result<Option<Session>, Unavailable> {
    let store = deps.store();
    write::decide(deps.host(), || async {
        let session = store.session(&turn.key.session).await?;
        let claim = session.and_then(|session| titling::claim(&session, turn));
        let Some(claim) = claim else { return Ok(Tried::Done(None)) };
        match store.commit(&claim).await.map(|()| Some(claim.session.after)).into() {
            Tried::Unknown(source) => Err(Unavailable { what: "the table", source }),
            tried => Ok(tried),
        }
    })
    .await
}

/// Ends a claimed call with its usage, and with a title if there is one.
async fn conclude(
    deps: &impl Deps,
    claimed: &Session,
    title: Option<&str>,
    usage: &UsageEntry,
) -> Result<(), Unavailable> {
    write::decide(deps.host(), || async {
        let Some(session) = deps.store().session(&claimed.key).await? else {
            return Ok(Tried::Done(()));
        };
        let record = match session.is_purged() {
            true => deps.store().purge(&claimed.key).await?,
            false => None,
        };
        match titling::conclude(&session, record.as_ref(), &claimed.name, title, usage) {
            Some(commit) => Ok(write::commit(deps, &commit).await?.done(())),
            None => Ok(Tried::Done(())),
        }
    })
    .await
}

fn log_failure(turn: &TurnKey, error: &dyn std::fmt::Display) {
    tracing::warn!(
        org = turn.session.org.as_str(),
        session = turn.session.session.as_str(),
        turn = turn.turn.as_str(),
        %error,
        "{}",
        contracts::log::TITLE_FAILED
    );
}
