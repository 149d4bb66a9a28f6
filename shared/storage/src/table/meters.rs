//! The meters of budgets.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use contracts::{
    Day, Timestamp,
    id::{OrgId, UserId},
};
use protocol::{
    budget::{self, Amounts, Entry, EntryId, MeterChange, MeterKey, MeterReading, amounts},
    id::{SessionKey, TurnKey},
    usage::{UsageAmounts, UsageKey},
};
use turns::ports::{Meter, MeterReads, Page, Unavailable, WriteError};

use super::{
    Table,
    read::{primary, text, unreadable},
};
use crate::{
    failure,
    item::{Attributes, VERSION, check_version},
    key::{Item, decode_part, encode_part},
};

/// The time for which a meter is stored after its window, in seconds.
const RETENTION_SECONDS: i64 = 31 * 24 * 60 * 60;

impl MeterReads for Table {
    async fn meter(&self, key: &MeterKey, turn: &TurnKey) -> Result<budget::Meter, Unavailable> {
        let Some(item) = self.get(&Item::Meter(key)).await? else { return Ok(budget::Meter::default()) };
        check_version(&item).map_err(unreadable)?;
        Ok(meter(&item, turn))
    }

    async fn meter_reading(&self, meter: &MeterKey) -> Result<MeterReading, Unavailable> {
        let Some(item) = self.get(&Item::Meter(meter)).await? else { return Ok(MeterReading::default()) };
        check_version(&item).map_err(unreadable)?;
        let entry = |name: &String| {
            Some((parse_entry_name(&meter.org, name)?, text(&item, name).and_then(parse_entry)?))
        };
        let entries = item.keys().filter_map(entry).collect();
        Ok(MeterReading { sum: sum(&item), turns: number(&item, "Turns"), entries })
    }

    async fn usage(
        &self,
        org: &OrgId,
        day: Day,
        user: Option<&UserId>,
        after: Option<String>,
    ) -> Result<Page<(UsageKey, UsageAmounts)>, Unavailable> {
        self.read_usage(org, day, user, after).await
    }
}

impl Meter for Table {
    async fn write_meter(&self, change: &MeterChange) -> Result<budget::Meter, WriteError> {
        let MeterChange { meter: key, turn, before, after, ceiling, .. } = change;
        let (old, new) = (amounts(*before), amounts(*after));
        let turns = i128::from(after.is_some()) - i128::from(before.is_some());
        let added = [
            ("Tokens", i128::from(new.tokens) - i128::from(old.tokens), ceiling.tokens),
            ("Micros", i128::from(new.micros) - i128::from(old.micros), ceiling.micros),
            ("Turns", turns, ceiling.turns),
            ("Unpriced", i128::from(new.unpriced) - i128::from(old.unpriced), None),
        ];
        let mut request = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(primary(&Item::Meter(key))))
            .expression_attribute_names("#entry", entry_name(turn));
        let mut conditions = Vec::new();
        match before {
            Some(before) => {
                conditions.push("#entry = :before".to_owned());
                request = request.expression_attribute_values(":before", entry(*before));
            }
            None => conditions.push("attribute_not_exists(#entry)".to_owned()),
        }
        let mut adds = Vec::new();
        for (index, (name, by, most)) in added.into_iter().enumerate() {
            adds.push(format!("#a{index} :a{index}"));
            request = request
                .expression_attribute_names(format!("#a{index}"), name)
                .expression_attribute_values(format!(":a{index}"), AttributeValue::N(by.to_string()));
            if let Some(most) = most {
                conditions.push(format!("(attribute_not_exists(#a{index}) OR #a{index} <= :m{index})"));
                let most = AttributeValue::N(most.to_string());
                request = request.expression_attribute_values(format!(":m{index}"), most);
            }
        }
        let update = match change.stored_entry() {
            Some(after) => {
                let end = key.end().map_or(after.since, |end| end.max(after.since));
                let expires = (end.as_millis() / 1_000).saturating_add(RETENTION_SECONDS);
                request = request
                    .expression_attribute_names("#v", "V")
                    .expression_attribute_names("#expires", "ExpiresAt")
                    .expression_attribute_values(":v", AttributeValue::N(VERSION.to_string()))
                    .expression_attribute_values(":expires", AttributeValue::N(expires.to_string()))
                    .expression_attribute_values(":after", entry(after));
                "SET #entry = :after, #v = :v, #expires = :expires"
            }
            None => "REMOVE #entry",
        };
        request
            .update_expression(format!("{update} ADD {}", adds.join(", ")))
            .condition_expression(conditions.join(" AND "))
            .return_values(ReturnValue::UpdatedNew)
            .send()
            .await
            .map(|updated| meter(&updated.attributes.unwrap_or_default(), turn))
            .map_err(failure::write_error)
    }
}

/// Reads a meter, with the entry of one turn.
fn meter(item: &Attributes, turn: &TurnKey) -> budget::Meter {
    budget::Meter {
        sum: sum(item),
        turns: number(item, "Turns"),
        entry: text(item, &entry_name(turn)).and_then(parse_entry),
    }
}

fn sum(item: &Attributes) -> Amounts {
    Amounts {
        tokens: number(item, "Tokens"),
        micros: number(item, "Micros"),
        unpriced: number(item, "Unpriced"),
    }
}

/// The attribute of a turn's entry.
fn entry_name(turn: &TurnKey) -> String {
    format!("T#{}#{}", encode_part(turn.session.session.as_str()), encode_part(turn.turn.as_str()))
}

fn parse_entry_name(org: &OrgId, name: &str) -> Option<TurnKey> {
    let (session, turn) = name.strip_prefix("T#")?.split_once('#')?;
    let session = decode_part(session)?.parse().ok()?;
    let turn = decode_part(turn)?.parse().ok()?;
    Some(SessionKey { org: org.clone(), session }.turn(turn))
}

/// An entry: tokens, millionths, the time of the turn's start in milliseconds, the id, and a 1 if it is unpriced.
fn entry(Entry { amounts, since, id }: Entry) -> AttributeValue {
    let Amounts { tokens, micros, unpriced } = amounts;
    let entry = format!("{tokens} {micros} {} {}", since.as_millis(), id.0);
    // Entries from before prices were required end with the id, and conditions compare the whole text.
    AttributeValue::S(if unpriced == 0 { entry } else { format!("{entry} {unpriced}") })
}

fn parse_entry(text: &str) -> Option<Entry> {
    let mut parts = text.split(' ');
    let (tokens, micros) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let since = Timestamp::from_millis(parts.next()?.parse().ok()?);
    let id = EntryId(parts.next()?.parse().ok()?);
    let unpriced = parts.next().map_or(Some(0), |turns| turns.parse().ok())?;
    Some(Entry { amounts: Amounts { tokens, micros, unpriced }, since, id })
}

fn number(item: &Attributes, name: &str) -> u64 {
    let number = item.get(name).and_then(|value| value.as_n().ok());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}
