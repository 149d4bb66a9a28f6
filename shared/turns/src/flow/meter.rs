//! Meters of budgets: a turn's start reserves an estimate, a running turn raises it, and its finalization replaces it by
//! the turn's usage. What a turn used is held until then, however late that is. A refused start removes the entries that
//! starts and functions left behind when they died.

use std::{ops::ControlFlow, time::Duration};

use contracts::{
    Error, ErrorCode, Timestamp,
    error::causes,
    id::UserId,
    request::{Budget, BudgetWindow, Budgets},
};
use futures::future::{join_all, try_join_all};
use protocol::{
    budget::{self, Amounts, Ceiling, Entry, EntryId, MeterChange, MeterKey, MeterRef, RateLimits, Subjects},
    detail::Report,
    id::TurnKey,
    spent::Spent,
    transition::{meter_hold, wait},
    turn::Turn,
};

use crate::{
    flow::write::{self, Tried},
    ports::{Deps, Host, Meter as _, MeterReads, Reads, TypedDocuments, Unavailable, WriteError},
};

/// The wait that a limit of concurrent turns suggests if no holder's can be estimated.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// The entries that a turn's start has made.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    /// The meters of the turn.
    pub(crate) meters: Vec<MeterRef>,
    /// The amounts that are reserved in each of them.
    pub(crate) amounts: Amounts,
    /// Warnings for the user.
    pub(crate) warnings: Vec<String>,
    /// The entries that this start made, and not an earlier try of it.
    fresh: Vec<(MeterRef, Entry)>,
}

impl Reservation {
    /// True if this start made an entry.
    pub(crate) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }
}

/// A budget that refuses a turn or its next model call.
#[derive(Debug)]
pub(crate) struct ExceededBudget {
    /// The budget in words.
    name: String,
    id: String,
    /// The end of its window, if waiting helps.
    reopens: Option<Timestamp>,
}

impl ExceededBudget {
    fn new(budgets: &Budgets, budget: &Budget, reopens: Option<Timestamp>) -> Self {
        Self { name: name(budgets, budget), id: budget.id.clone(), reopens }
    }

    /// Returns the refusal of a budget for single turns. Waiting doesn't help.
    pub(crate) fn of_turn(budgets: &Budgets, budget: &Budget) -> Self {
        Self::new(budgets, budget, None)
    }

    /// Logs the refusal of a turn or of its next model call.
    pub(crate) fn log(&self, turn: &TurnKey, user: &UserId, code: ErrorCode) {
        tracing::info!(
            org = turn.session.org.as_str(),
            user = user.as_str(),
            session = turn.session.session.as_str(),
            turn = turn.turn.as_str(),
            budget = self.id,
            code = code.as_str(),
            "{}",
            contracts::log::BUDGET_EXCEEDED
        );
    }

    /// Returns the error for the client.
    pub(crate) fn error(&self, code: ErrorCode, now: Timestamp) -> Error {
        let Self { name, id, reopens } = self;
        let message = match (code, reopens) {
            (ErrorCode::BudgetExceeded, Some(at)) => {
                format!("The {name} is used up. Nothing was started. Send the request again after {at}.")
            }
            (_, Some(at)) => format!(
                "The next model call would exceed the {name}. Send the instruction again after {at}, with a new TurnId."
            ),
            (_, None) => {
                format!(
                    "The next model call would exceed the {name}. Ask for less at once, with a new TurnId."
                )
            }
        };
        let error = Error::new(code, message).with_details(id);
        match self.reopens {
            Some(at) => error.with_retry_after(now.until(at)),
            None => error,
        }
    }
}

/// Names a budget with its limit.
pub(crate) fn name(budgets: &Budgets, budget: &Budget) -> String {
    let limit = budget::describe(budget, budgets.currency.as_deref());
    format!("budget \"{}\" {limit}", budget.id)
}

/// The outcome of adding an entry.
enum Added {
    /// The entry is new.
    New(Entry),
    /// An earlier try of the same start added it. It has a new time, so that the earlier try no longer removes it.
    Existing(Entry),
    /// A budget refuses it.
    Refused(ExceededBudget),
}

/// Reserves an estimate in every meter of a turn that is about to start, or in none. Returns the limits per minute too.
///
/// # Errors
/// If the table can't be reached.
pub(crate) async fn reserve(
    deps: &impl Deps,
    budgets: &Budgets,
    subjects: &Subjects,
    turn: &TurnKey,
) -> Result<(Result<Reservation, ExceededBudget>, RateLimits), Unavailable> {
    let meters = budget::meters(budgets, subjects, deps.host().now());
    let amounts = budget::reservation(budgets, subjects);
    let added = join_all(meters.iter().map(|meter| add(deps, budgets, subjects, meter, turn))).await;
    let mut reservation = Reservation { amounts, ..Reservation::default() };
    let (mut refused, mut failed, mut rate_limits) = (None, None, RateLimits::default());
    for (mut meter, added) in meters.into_iter().zip(added) {
        let (added, stored) = match added {
            Ok(added) => added,
            Err(error) => {
                failed = Some(error);
                continue;
            }
        };
        let end = meter.key(turn, &subjects.user).end();
        rate_limits.add((budgets, subjects), &meter, &stored, end);
        let reached = budget::warning(budgets, subjects, &meter, &stored);
        reservation
            .warnings
            .extend(reached.into_iter().map(|budget| format!("The {} is used up.", name(budgets, budget))));
        match added {
            Added::New(entry) => {
                meter.entry = Some(entry.id);
                reservation.fresh.push((meter.clone(), entry));
            }
            Added::Existing(entry) => meter.entry = Some(entry.id),
            Added::Refused(budget) => refused = refused.or(Some(budget)),
        }
        reservation.meters.push(meter);
    }
    if refused.is_some() || failed.is_some() {
        release(deps, &reservation, turn, &subjects.user).await?;
    }
    match (refused, failed) {
        (Some(budget), _) => Ok((Err(budget), rate_limits)),
        (None, Some(error)) => Err(error),
        (None, None) => Ok((Ok(reservation), rate_limits)),
    }
}

/// Removes the entries that a start made, because it didn't start the turn.
pub(crate) async fn release(
    deps: &impl Deps,
    reservation: &Reservation,
    turn: &TurnKey,
    user: &UserId,
) -> Result<(), Unavailable> {
    let released = reservation.fresh.iter().map(|(meter, entry)| {
        let change = replacement(meter.key(turn, user), turn, *entry, None);
        async move { release_one(deps, &change).await }
    });
    try_join_all(released).await.map(|_| ())
}

/// Removes an entry as this start made it. One with another time belongs to a later try of the start.
async fn release_one(deps: &impl Deps, change: &MeterChange) -> Result<(), Unavailable> {
    write::decide(deps.host(), || async {
        Ok(match deps.store().write_meter(change).await {
            Err(WriteError::ConditionFailed) => Tried::Done(()),
            written => written.map(drop).into(),
        })
    })
    .await
}

/// Adds the entry of a turn. Returns the meter with it, or the one that refuses it.
async fn add(
    deps: &impl Deps,
    budgets: &Budgets,
    subjects: &Subjects,
    meter: &MeterRef,
    turn: &TurnKey,
) -> Result<(Added, budget::Meter), Unavailable> {
    let key = &meter.key(turn, &subjects.user);
    let now = deps.host().now();
    write::decide_with(deps.host(), Vec::new(), |mut own| async move {
        let added = try_to_add(deps, (budgets, subjects), (meter, key, turn), now, &mut own).await;
        (own, added)
    })
    .await
}

/// Tries once to add the entry of a turn. `own` are the entries of the tries so far.
async fn try_to_add(
    deps: &impl Deps,
    (budgets, subjects): (&Budgets, &Subjects),
    (meter, key, turn): (&MeterRef, &MeterKey, &TurnKey),
    now: Timestamp,
    own: &mut Vec<Entry>,
) -> Result<Tried<(Added, budget::Meter)>, Unavailable> {
    // Each try has an id of its own, so that the late write of one is never taken for the entry of another.
    let id = deps.host().entry_id();
    let change = budget::start(budgets, subjects, meter, (key.clone(), turn.clone()), (now, id));
    let written = deps.store().write_meter(&change).await;
    own.extend(change.after);
    let (stored, again) = match written {
        Ok(written) => (written, Tried::Conflict),
        Err(error) => (deps.store().meter(key, turn).await?, Err(error).into()),
    };
    match stored.entry {
        Some(entry) if own.contains(&entry) => return Ok(Tried::Done((Added::New(entry), stored))),
        Some(entry) => {
            return Ok(match adopt(deps, key, turn, entry, now).await? {
                Some(adopted) => Tried::Done((Added::Existing(adopted), stored)),
                None => Tried::Conflict,
            });
        }
        None => {}
    }
    let Some(refusing) = budget::refusing(budgets, subjects, meter, &stored, &change) else {
        return Ok(again);
    };
    Ok(match check_holders(deps, key).await? {
        Holders::SomeRemoved => Tried::Progress,
        Holders::All { wait } => {
            let reopens = key.end().unwrap_or(now.after(wait));
            Tried::Done((Added::Refused(ExceededBudget::new(budgets, refusing, Some(reopens))), stored))
        }
    })
}

/// Takes over the entry of an earlier try of the same start, by another time. Returns none if it changed meanwhile.
async fn adopt(
    deps: &impl Deps,
    meter: &MeterKey,
    turn: &TurnKey,
    entry: Entry,
    now: Timestamp,
) -> Result<Option<Entry>, Unavailable> {
    let since = now.max(entry.since.after(Duration::from_millis(1)));
    let adopted = Entry { since, ..entry };
    let change = replacement(meter.clone(), turn, entry, Some(adopted));
    match deps.store().write_meter(&change).await {
        Ok(_) => Ok(Some(adopted)),
        Err(WriteError::ConditionFailed | WriteError::Contended) => Ok(None),
        Err(WriteError::Unknown(source)) => Err(Unavailable { what: "the table", source }),
    }
}

/// The turns that use up a limit.
enum Holders {
    /// Some of them had no right to their entries, which are removed.
    SomeRemoved,
    /// All of those that were checked hold their entries. One of them may end after `wait`.
    All { wait: Duration },
}

/// Checks the oldest entries of a meter against their turns, and removes those of dead starts and functions.
async fn check_holders(deps: &impl Deps, meter: &MeterKey) -> Result<Holders, Unavailable> {
    let (now, timing, window) = (deps.host().now(), deps.timing(), meter.window);
    let reading = deps.store().meter_reading(meter).await?;
    let checked = meter_hold::oldest_to_check(window, reading.entries, now);
    let heads = try_join_all(checked.iter().map(|(turn, _)| deps.store().turn(turn))).await?;
    let mut all = Holders::All { wait: MIN_WAIT };
    let waits = heads.iter().flatten().map(|head| wait::estimate_wait(head, now, timing));
    if let Some(shortest) = waits.min() {
        all = Holders::All { wait: shortest };
    }
    for ((turn, entry), head) in checked.into_iter().zip(heads) {
        if meter_hold::is_held(window, entry, head.as_ref(), now, timing) {
            continue;
        }
        let change = replacement(meter.clone(), &turn, entry, None);
        match deps.store().write_meter(&change).await {
            // Another start may have removed it.
            Ok(_) | Err(WriteError::ConditionFailed | WriteError::Contended) => all = Holders::SomeRemoved,
            Err(WriteError::Unknown(source)) => return Err(Unavailable { what: "the table", source }),
        }
    }
    Ok(all)
}

/// Raises the entries of a running turn to `needed`. Returns the budget that refuses it, if any.
///
/// # Errors
/// If the table can't be reached.
pub(crate) async fn raise(
    deps: &impl Deps,
    budgets: &Budgets,
    subjects: &Subjects,
    turn: &Turn,
    needed: Amounts,
) -> Result<Option<ExceededBudget>, Unavailable> {
    let limited = turn.meters.iter().filter(|meter| budget::limits_amounts(budgets, subjects, meter));
    let raised = limited.map(|meter| raise_one(deps, budgets, subjects, turn, meter, needed));
    Ok(try_join_all(raised).await?.into_iter().flatten().next())
}

/// True if a budget for tokens or money of these subjects has no room for another model call.
///
/// # Errors
/// If the table can't be reached.
pub(crate) async fn is_used_up(
    deps: &impl Deps,
    budgets: &Budgets,
    turn: &TurnKey,
    subjects: &Subjects,
) -> Result<bool, Unavailable> {
    let now = deps.host().now();
    let (nothing, least) = (Amounts::default(), Amounts { tokens: 1, micros: 1, unpriced: 0 });
    let before = Entry { amounts: nothing, since: now, id: EntryId::default() };
    for meter in budget::meters(budgets, subjects, now) {
        let key = meter.key(turn, &subjects.user);
        if !budget::limits_amounts(budgets, subjects, &meter) {
            continue;
        }
        let stored = deps.store().meter(&key, turn).await?;
        let change = budget::raise(budgets, subjects, &meter, (key, turn.clone()), before, least);
        if budget::refusing(budgets, subjects, &meter, &stored, &change).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn raise_one(
    deps: &impl Deps,
    budgets: &Budgets,
    subjects: &Subjects,
    turn: &Turn,
    meter: &MeterRef,
    needed: Amounts,
) -> Result<Option<ExceededBudget>, Unavailable> {
    change_entry(deps, meter, turn, |key, stored, entry| {
        let change = budget::raise(budgets, subjects, meter, (key.clone(), turn.key.clone()), entry, needed);
        if change.after == change.before {
            return ControlFlow::Break(None);
        }
        match budget::refusing(budgets, subjects, meter, stored, &change) {
            Some(refusing) => ControlFlow::Break(Some(ExceededBudget::new(budgets, refusing, key.end()))),
            None => ControlFlow::Continue(change),
        }
    })
    .await
}

/// Replaces the entries of a settled turn by its usage, and closes them. A settlement is irrevocable, so any number of
/// writers write the same, and a closed entry stays closed.
pub(crate) async fn close(deps: &impl Deps, turn: &Turn, report: &Report) -> Result<(), Unavailable> {
    replace_entries(deps, turn, report, false).await
}

/// Replaces the entries of a turn that awaits tools by its usage. They stay open, because the turn may still go on.
pub(crate) async fn count(deps: &impl Deps, turn: &Turn, report: &Report) -> Result<(), Unavailable> {
    replace_entries(deps, turn, report, true).await
}

async fn replace_entries(
    deps: &impl Deps,
    turn: &Turn,
    report: &Report,
    keeps_entry: bool,
) -> Result<(), Unavailable> {
    if turn.meters.is_empty() {
        return Ok(());
    }
    let budgets = deps.store().budgets(&turn.key.session.org).await?;
    let used = Amounts::of_turn(report, budgets.currency.as_deref());
    let replaced = turn.meters.iter().filter_map(|meter| {
        match (is_concurrent(meter), keeps_entry) {
            (false, _) => Some(replace_entry(deps, meter, turn, Some(used), keeps_entry)),
            (true, false) => Some(replace_entry(deps, meter, turn, None, false)),
            // It left when it was suspended.
            (true, true) => None,
        }
    });
    try_join_all(replaced).await.map(|_| ())
}

fn is_concurrent(meter: &MeterRef) -> bool {
    meter.window == BudgetWindow::Concurrent
}

/// Removes a turn from its meters of concurrent turns, because no function works on it any more. The finalization
/// removes what is left after a failure.
pub(crate) async fn leave(deps: &impl Deps, turn: &Turn) {
    let meters = turn.meters.iter().filter(|meter| is_concurrent(meter));
    let left = meters.map(|meter| replace_entry(deps, meter, turn, None, false));
    if let Err(error) = try_join_all(left).await {
        tracing::warn!(error = %causes(&error), "{}", contracts::log::RESERVATION_NOT_RELEASED);
    }
}

/// Adds a resumed turn to its meters of concurrent turns. Tool results are never refused, so it may exceed a limit, as
/// it may be missing after a failure.
pub(crate) async fn rejoin(deps: &impl Deps, turn: &Turn) {
    let since = deps.host().now();
    let meters = turn.meters.iter().filter(|meter| is_concurrent(meter));
    let joined = meters.map(|meter| {
        let change = MeterChange {
            meter: meter.key(&turn.key, &turn.requested_by),
            turn: turn.key.clone(),
            before: None,
            after: Some(Entry { amounts: Amounts::default(), since, id: meter.entry.unwrap_or_default() }),
            keeps_entry: true,
            ceiling: Ceiling::default(),
        };
        async move { deps.store().write_meter(&change).await }
    });
    for written in join_all(joined).await {
        if let Err(WriteError::Unknown(error)) = written {
            let error = Unavailable { what: "the table", source: error };
            tracing::warn!(error = %causes(&error), "{}", contracts::log::TURN_NOT_COUNTED);
        }
    }
}

/// Replaces a turn's entry if there is one. `used` is none for a turn that doesn't count. An entry that isn't the turn's
/// own comes from a start whose write was late: the turn has been counted, so that entry is removed.
async fn replace_entry(
    deps: &impl Deps,
    meter: &MeterRef,
    turn: &Turn,
    used: Option<Amounts>,
    keeps_entry: bool,
) -> Result<(), Unavailable> {
    change_entry(deps, meter, turn, |key, _, entry| {
        let after = used.filter(|_| meter.owns(entry)).map(|amounts| Entry { amounts, ..entry });
        match keeps_entry && Some(entry) == after {
            true => ControlFlow::Break(()),
            false => {
                let change = replacement(key.clone(), &turn.key, entry, after);
                ControlFlow::Continue(MeterChange { keeps_entry, ..change })
            }
        }
    })
    .await
}

/// The replacement of an entry, whatever the sums are.
pub(crate) fn replacement(
    meter: MeterKey,
    turn: &TurnKey,
    before: Entry,
    after: Option<Entry>,
) -> MeterChange {
    let keeps_entry = after.is_some();
    let (turn, before, ceiling) = (turn.clone(), Some(before), Ceiling::default());
    MeterChange { meter, turn, before, after, keeps_entry, ceiling }
}

/// Changes the entry of a turn as `change` decides on the stored one, or ends with its result. An entry that is gone has
/// expired with its window, or the turn is counted: then there is nothing to change.
///
/// # Errors
/// If the table can't be reached.
pub(crate) async fn change_entry<T: Default>(
    deps: &impl Deps,
    meter: &MeterRef,
    turn: &Turn,
    change: impl Fn(&MeterKey, &budget::Meter, Entry) -> ControlFlow<T, MeterChange>,
) -> Result<T, Unavailable> {
    let key = meter.key(&turn.key, &turn.requested_by);
    write::decide(deps.host(), || async {
        let stored = deps.store().meter(&key, &turn.key).await?;
        let Some(entry) = stored.entry else { return Ok(Tried::Done(T::default())) };
        Ok(match change(&key, &stored, entry) {
            ControlFlow::Break(done) => Tried::Done(done),
            ControlFlow::Continue(change) => {
                deps.store().write_meter(&change).await.map(|_| T::default()).into()
            }
        })
    })
    .await
}

/// Raises the entries of a turn to what it used, before it is settled or suspended. The limit may be exceeded by it: the
/// usage is paid for. Within what its start reserved, a turn writes nothing. A failure is only logged, so that the answer
/// isn't lost.
pub(crate) async fn hold(deps: &impl Deps, turn: &Turn, report: &Report, reserved: Amounts) {
    if turn.meters.is_empty() {
        return;
    }
    if let Err(error) = raise_to_usage(deps, turn, report, reserved).await {
        tracing::error!(error = %causes(&error), "{}", contracts::log::USAGE_NOT_HELD);
    }
}

/// Raises the entries of a turn that is ended from outside, or was, to what it has spent as far as that is known. So turns
/// that are cancelled one after another count in their limits without the finalizer.
pub(crate) async fn hold_spent(deps: &impl Deps, turn: &Turn, spent: Option<&Spent>) {
    if let Some(spent) = spent {
        Box::pin(hold(deps, turn, &Report::default().with_spent(spent), Amounts::default())).await;
    }
}

async fn raise_to_usage(
    deps: &impl Deps,
    turn: &Turn,
    report: &Report,
    reserved: Amounts,
) -> Result<(), Unavailable> {
    let budgets = deps.store().budgets(&turn.key.session.org).await?;
    // Turns without a price are only counted, not limited.
    let used = Amounts { unpriced: 0, ..Amounts::of_turn(report, budgets.currency.as_deref()) };
    if used.beyond(reserved) == Amounts::default() {
        return Ok(());
    }
    let limited = turn.meters.iter().filter(|meter| budget::may_limit_amounts(&budgets, meter.kind()));
    let raised = limited.map(|meter| {
        change_entry(deps, meter, turn, move |key, _, entry| {
            let amounts = entry.amounts.max(used);
            if !meter.owns(entry) || amounts == entry.amounts {
                return ControlFlow::Break(());
            }
            let after = Some(Entry { amounts, ..entry });
            ControlFlow::Continue(replacement(key.clone(), &turn.key, entry, after))
        })
    });
    try_join_all(raised).await.map(|_| ())
}
