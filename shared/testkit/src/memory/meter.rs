//! The meters of budgets, and usage.

use contracts::{
    Day,
    id::{OrgId, UserId},
};
use protocol::{
    budget::{self, MeterChange, MeterKey, MeterReading},
    id::TurnKey,
    usage::{UsageAmounts, UsageKey},
};
use turns::ports::{Meter, MeterReads, Page, Unavailable, WriteError};

use super::Table;

impl MeterReads for Table {
    async fn meter(&self, meter: &MeterKey, turn: &TurnKey) -> Result<budget::Meter, Unavailable> {
        let contents = self.contents();
        let Some((sums, entries)) = contents.meters.get(meter) else { return Ok(budget::Meter::default()) };
        Ok(budget::Meter { entry: entries.get(turn).copied(), ..*sums })
    }

    async fn meter_reading(&self, meter: &MeterKey) -> Result<MeterReading, Unavailable> {
        let contents = self.contents();
        let Some((sums, entries)) = contents.meters.get(meter) else { return Ok(MeterReading::default()) };
        let entries = entries.iter().map(|(turn, entry)| (turn.clone(), *entry)).collect();
        Ok(MeterReading { sum: sums.sum, turns: sums.turns, entries })
    }

    async fn usage(
        &self,
        org: &OrgId,
        day: Day,
        user: Option<&UserId>,
        after: Option<String>,
    ) -> Result<Page<(UsageKey, UsageAmounts)>, Unavailable> {
        let contents = self.contents();
        let of_day = contents.usage.iter().filter(|(key, _)| key.org == *org && key.day == day);
        let mut rows = of_day.filter(|(key, _)| user.is_none_or(|user| key.user == *user));
        // One at a time, so that small tests have several pages.
        let read = after.map_or(0, |after| after.parse().unwrap_or(0));
        let item = rows.nth(read).map(|(key, amounts)| (key.clone(), amounts.clone()));
        Ok(Page { items: item.into_iter().collect(), next: rows.next().map(|_| (read + 1).to_string()) })
    }
}

impl Meter for Table {
    async fn write_meter(&self, change: &MeterChange) -> Result<budget::Meter, WriteError> {
        let mut contents = self.contents();
        let (sums, entries) = contents.meters.entry(change.meter.clone()).or_default();
        let stored = budget::Meter { entry: entries.get(&change.turn).copied(), ..*sums };
        let after = stored.apply(change).ok_or(WriteError::ConditionFailed)?;
        match after.entry {
            Some(entry) => entries.insert(change.turn.clone(), entry),
            None => entries.remove(&change.turn),
        };
        *sums = budget::Meter { entry: None, ..after };
        Ok(after)
    }
}
