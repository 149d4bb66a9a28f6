//! The usage of an org or a user over a range of days, and the use of an org's budgets: their meters in the current
//! windows.

use std::{cmp::Reverse, collections::BTreeMap, future::ready};

use contracts::{
    BudgetUse, BudgetUseReport, Day, MeterUse, Timestamp,
    id::{OrgId, UserId},
    read::{UsageGroup, UsageGrouping, UsageReport},
    request::{
        Budget, BudgetScope, BudgetUnit, BudgetWindow, Budgets,
        limits::{MAX_BUDGET_METERS, MAX_USAGE_GROUPS},
    },
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{
    Caller, budget,
    usage::{UsageAmounts, UsageKey},
};

use crate::{
    flow::read::session_reader::{MAX_CONCURRENT_READS, SessionReader},
    ports::{DocumentId, MeterReads, PayloadReads, Reads, Unavailable, single},
    refusal::Refusal,
    view,
};

/// The usage to report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// The first day.
    pub from: Day,
    /// The last day.
    pub to: Day,
    /// The property to group by.
    pub by: UsageGrouping,
    /// Only the turns of this user.
    pub user: Option<UserId>,
}

/// Usage by the value of a property.
pub(super) type UsageGroups = BTreeMap<Option<String>, UsageAmounts>;

impl<R: Reads + MeterReads, P: PayloadReads> SessionReader<R, P> {
    /// Reports usage: the org's or a user's to operators, and to others their own.
    ///
    /// # Errors
    /// If the caller isn't an operator and asks for another user's usage.
    pub async fn usage(&self, caller: &Caller, query: &UsageQuery) -> Result<UsageReport, Refusal> {
        let UsageQuery { from, to, by, user } = query;
        let user = readable_user(caller, user.as_ref())?;
        let groups = self.usage_groups(&caller.org, (*from, *to), user, *by).await?;
        Ok(report(query, groups))
    }

    /// Returns the usage from one day to another, of an org or of one of its users.
    pub(super) async fn usage_groups(
        &self,
        org: &OrgId,
        (from, to): (Day, Day),
        user: Option<&UserId>,
        by: UsageGrouping,
    ) -> Result<UsageGroups, Unavailable> {
        let days: Vec<_> = from.through(to).map(|day| self.usage_of_day(org, day, user, by)).collect();
        let days = stream::iter(days).buffer_unordered(MAX_CONCURRENT_READS);
        days.try_fold(UsageGroups::new(), |sum, day| ready(Ok(merge(sum, day)))).await
    }

    async fn usage_of_day(
        &self,
        org: &OrgId,
        day: Day,
        user: Option<&UserId>,
        by: UsageGrouping,
    ) -> Result<UsageGroups, Unavailable> {
        let (mut groups, mut after) = (UsageGroups::new(), None);
        loop {
            let page = self.store.usage(org, day, user, after).await?;
            for (key, amounts) in &page.items {
                add(&mut groups, group_of(key, by), amounts);
            }
            after = page.next;
            if after.is_none() {
                return Ok(groups);
            }
        }
    }
}

/// Returns the user whose figures the caller gets, or none for all of the org's. Only operators get those of others.
pub(super) fn readable_user<'a>(
    caller: &'a Caller,
    requested: Option<&'a UserId>,
) -> Result<Option<&'a UserId>, Refusal> {
    match requested {
        _ if caller.operator => Ok(requested),
        Some(user) if *user != caller.user.id => Err(Refusal::operator_required()),
        _ => Ok(Some(&caller.user.id)),
    }
}

fn group_of(key: &UsageKey, by: UsageGrouping) -> Option<String> {
    match by {
        UsageGrouping::Day => Some(key.day.to_string()),
        UsageGrouping::User => Some(key.user.to_string()),
        UsageGrouping::Agent => Some(key.agent.clone()),
        UsageGrouping::Model => key.model.clone(),
    }
}

fn add(groups: &mut UsageGroups, key: Option<String>, amounts: &UsageAmounts) {
    let group = groups.entry(key).or_default();
    *group = std::mem::take(group).plus(amounts);
}

fn merge(mut sum: UsageGroups, day: UsageGroups) -> UsageGroups {
    for (key, amounts) in day {
        add(&mut sum, key, &amounts);
    }
    sum
}

fn report(query: &UsageQuery, groups: UsageGroups) -> UsageReport {
    let total = groups.values().fold(UsageAmounts::default(), UsageAmounts::plus);
    let mut groups: Vec<UsageGroup> =
        groups.into_iter().map(|(key, amounts)| view::usage_group(key, &amounts)).collect();
    if query.by != UsageGrouping::Day {
        groups.sort_by_key(|group| Reverse(group.usage.total_tokens));
    }
    let omitted_groups = groups.len().saturating_sub(MAX_USAGE_GROUPS) as u64;
    groups.truncate(MAX_USAGE_GROUPS);
    UsageReport {
        from: query.from,
        to: query.to,
        by: query.by,
        groups,
        omitted_groups,
        total: view::usage_group(None, &total),
        tools: view::tools_usage(&total),
    }
}

/// Usage that several budgets need: the property, and the first day.
type UsageCache = BTreeMap<(BudgetScope, Day), UsageGroups>;

/// The subjects whose meters a budget has.
enum MeterSubjects {
    /// These ones.
    Named(Vec<String>),
    /// Every user or agent with usage since a day.
    Each(UsageGrouping, Day),
}

impl<R: Reads + MeterReads, P: PayloadReads> SessionReader<R, P> {
    /// Reports the use of budgets: of the org or of a user to operators, and to others that of their own.
    ///
    /// # Errors
    /// If the caller isn't an operator and asks for another user's.
    pub async fn budget_use(
        &self,
        caller: &Caller,
        user: Option<&UserId>,
        now: Timestamp,
    ) -> Result<BudgetUseReport, Refusal> {
        let user = readable_user(caller, user)?;
        let head = self.store.document(&caller.org, &DocumentId::Budgets).await?;
        let stored: Budgets = single(&DocumentId::Budgets, head.as_ref())?;
        let (mut cache, mut budgets) = (UsageCache::new(), Vec::new());
        let is_reported = |budget: &&Budget| user.is_none_or(|user| limits_user(budget, user));
        let reported: Vec<&Budget> = stored.budgets.iter().filter(is_reported).collect();
        for budget in reported {
            let (subjects, omitted_meters) = match subjects(budget, user, now) {
                MeterSubjects::Named(subjects) => (subjects, 0),
                MeterSubjects::Each(by, from) => {
                    let groups = match cache.remove(&(budget.scope, from)) {
                        Some(groups) => groups,
                        None => self.usage_groups(&caller.org, (from, now.into()), None, by).await?,
                    };
                    let largest = largest(&groups, budget.unit, stored.currency.as_deref());
                    cache.insert((budget.scope, from), groups);
                    largest
                }
            };
            let meters = self.meters(&caller.org, budget, subjects, now).await?;
            let window_end_date =
                budget::meter_of(budget, &caller.org, "", now).and_then(|meter| meter.end());
            budgets.push(BudgetUse { budget: budget.clone(), window_end_date, meters, omitted_meters });
        }
        Ok(BudgetUseReport { currency: stored.currency, budgets })
    }

    /// Reads the meters of a budget, those nearest to the limit first.
    async fn meters(
        &self,
        org: &OrgId,
        budget: &Budget,
        subjects: Vec<String>,
        now: Timestamp,
    ) -> Result<Vec<MeterUse>, Unavailable> {
        let reads: Vec<_> =
            subjects.into_iter().map(|subject| self.meter_use(org, budget, subject, now)).collect();
        let reads = stream::iter(reads).buffer_unordered(MAX_CONCURRENT_READS);
        let mut meters: Vec<MeterUse> = reads.try_collect().await?;
        meters.sort_by(|one, other| {
            let sum = |meter: &MeterUse| Reverse(meter.used.saturating_add(meter.reserved));
            (sum(one), &one.subject).cmp(&(sum(other), &other.subject))
        });
        Ok(meters)
    }

    async fn meter_use(
        &self,
        org: &OrgId,
        budget: &Budget,
        subject: String,
        now: Timestamp,
    ) -> Result<MeterUse, Unavailable> {
        let reading = match budget::meter_of(budget, org, &subject, now) {
            Some(meter) => self.store.meter_reading(&meter).await?,
            None => budget::MeterReading::default(),
        };
        let subject = (budget.scope != BudgetScope::Org).then_some(subject);
        Ok(MeterUse {
            subject,
            used: reading.used(budget.unit),
            reserved: reading.reserved(budget.unit),
            unpriced_turns: (budget.unit == BudgetUnit::Money).then_some(reading.sum.unpriced),
        })
    }
}

/// True if a budget limits the turns of a user alone.
fn limits_user(budget: &Budget, user: &UserId) -> bool {
    budget.scope == BudgetScope::User
        && budget.subject.as_ref().is_none_or(|subject| subject.as_str() == user.as_str())
}

/// Returns the subjects of a budget. Those of a session can't be listed.
fn subjects(budget: &Budget, user: Option<&UserId>, now: Timestamp) -> MeterSubjects {
    if budget.window == BudgetWindow::Turn {
        return MeterSubjects::Named(Vec::new());
    }
    let today = Day::from(now);
    match (budget.scope, &budget.subject, user) {
        (BudgetScope::Org, ..) => MeterSubjects::Named(vec![String::new()]),
        (BudgetScope::User, _, Some(user)) => MeterSubjects::Named(vec![user.to_string()]),
        (_, Some(subject), _) => MeterSubjects::Named(vec![subject.clone()]),
        (BudgetScope::User, None, None) => {
            MeterSubjects::Each(UsageGrouping::User, first_day(budget.window, today))
        }
        (BudgetScope::Agent, None, _) => {
            MeterSubjects::Each(UsageGrouping::Agent, first_day(budget.window, today))
        }
        (BudgetScope::Session, None, _) => MeterSubjects::Named(Vec::new()),
    }
}

/// Returns the first day of the window that contains a day.
fn first_day(window: BudgetWindow, today: Day) -> Day {
    match window {
        BudgetWindow::Month => {
            format!("{}-01", today.to_string().get(..7).unwrap_or_default()).parse().unwrap_or(today)
        }
        BudgetWindow::Turn | BudgetWindow::Concurrent | BudgetWindow::Minute | BudgetWindow::Day => today,
    }
}

/// Returns the subjects with the largest usage, and the number of the others.
fn largest(groups: &UsageGroups, unit: BudgetUnit, currency: Option<&str>) -> (Vec<String>, u64) {
    let mut ranked: Vec<_> = groups
        .iter()
        .filter_map(|(subject, usage)| Some((Reverse(in_unit(usage, unit, currency)), subject.as_ref()?)))
        .collect();
    ranked.sort_unstable();
    let omitted = ranked.len().saturating_sub(MAX_BUDGET_METERS) as u64;
    let subjects = ranked.into_iter().take(MAX_BUDGET_METERS).map(|(_, subject)| subject.clone());
    (subjects.collect(), omitted)
}

fn in_unit(usage: &UsageAmounts, unit: BudgetUnit, currency: Option<&str>) -> u64 {
    let cost = || usage.costs.iter().find(|cost| Some(cost.currency.as_str()) == currency);
    match unit {
        BudgetUnit::Tokens => usage.usage.total_tokens,
        BudgetUnit::Money => cost().map_or(0, |cost| cost.amount.micros()),
        BudgetUnit::Turns => usage.turns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_beyond_the_limit_count_in_the_total_only() {
        let day: Day = "2026-01-31".parse().unwrap();
        let query = UsageQuery { from: day, to: day, by: UsageGrouping::User, user: None };
        let mut groups = UsageGroups::new();
        for number in 0..MAX_USAGE_GROUPS + 2 {
            let mut amounts = UsageAmounts { turns: 1, ..UsageAmounts::default() };
            amounts.usage.total_tokens = number as u64;
            add(&mut groups, Some(format!("u{number}")), &amounts);
        }
        let report = report(&query, groups);
        let largest = format!("u{}", MAX_USAGE_GROUPS + 1);
        assert_eq!(report.groups[0].key.as_deref(), Some(largest.as_str()));
        assert_eq!((report.groups.len(), report.omitted_groups), (MAX_USAGE_GROUPS, 2));
        assert_eq!(report.total.turns, MAX_USAGE_GROUPS as u64 + 2);
    }

    #[test]
    fn subjects_beyond_the_limit_are_counted() {
        let group = |number: usize| {
            let mut usage = UsageAmounts { turns: 100 - number as u64, ..UsageAmounts::default() };
            usage.usage.total_tokens = number as u64;
            (Some(format!("u{number:02}")), usage)
        };
        let groups: UsageGroups = (0..MAX_BUDGET_METERS + 2).map(group).collect();
        let (by_tokens, omitted) = largest(&groups, BudgetUnit::Tokens, None);
        assert_eq!((by_tokens[0].as_str(), by_tokens.len(), omitted), ("u21", MAX_BUDGET_METERS, 2));
        assert_eq!(largest(&groups, BudgetUnit::Turns, None).0[0], "u00");
    }

    #[test]
    fn month_starts_with_its_first_day() {
        let day: Day = "2026-02-28".parse().unwrap();
        assert_eq!(first_day(BudgetWindow::Month, day).to_string(), "2026-02-01");
        assert_eq!(first_day(BudgetWindow::Minute, day), day);
    }
}
