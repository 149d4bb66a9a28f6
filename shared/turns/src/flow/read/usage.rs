//! The usage of an org or a user over a range of days.

use std::{cmp::Reverse, collections::BTreeMap, future::ready};

use contracts::{
    Day,
    id::{OrgId, UserId},
    read::{UsageGroup, UsageGrouping, UsageReport},
    request::limits::MAX_USAGE_GROUPS,
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{
    Caller,
    usage::{UsageAmounts, UsageKey},
};

use crate::{
    flow::read::session_reader::{MAX_CONCURRENT_READS, SessionReader},
    ports::{MeterReads, PayloadReads, Reads, Unavailable},
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
}
