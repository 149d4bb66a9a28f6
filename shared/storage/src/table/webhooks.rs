//! The outbox of webhooks: deliveries that a turn's last transaction adds, and lanes, which senders lease.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, TransactWriteItem};
use contracts::{
    Timestamp,
    id::{OrgId, WebhookId},
};
use protocol::{
    id::AttemptId,
    webhook::{Delivery, Health, Lane, LaneKey, LanePosition},
};
use turns::ports::{LaneStep, Outbox, PENDING_PAGE_SIZE, Page, Source, Unavailable, WriteError};

use super::{
    RESOURCE, Table,
    expression::{Expression, replace},
    list::keys_of,
    read::{primary, text, unreadable},
    write::ABSENT,
};
use crate::{
    failure,
    item::{
        Attributes, decode, encode, encode_item,
        webhook::{DeliveryItem, HEALTH_OPTIONAL, HealthItem, OPTIONAL},
    },
    key::{self, Item},
};

/// The deliveries that one read of a lane looks at. Few of them are over.
const LANE_PAGE: i32 = 50;

impl Table {
    /// Returns the writes that add events to the outbox, and make their lanes due.
    pub(super) fn outbox_writes(&self, deliveries: &[Delivery]) -> Result<Vec<TransactWriteItem>, Source> {
        let mut writes = Vec::new();
        let mut lanes = BTreeMap::new();
        for delivery in deliveries {
            writes.push(self.put(encode(delivery)?, Some(ABSENT))?);
            lanes.entry(&delivery.lane).or_insert(delivery);
        }
        for (lane, delivery) in lanes {
            writes.push(self.update(wake(lane, delivery.at))?);
        }
        Ok(writes)
    }

    async fn deliveries_of(&self, keys: Vec<(LaneKey, LanePosition)>) -> Result<Vec<Delivery>, Unavailable> {
        let primaries = keys.iter().map(|(lane, place)| primary(&Item::Delivery(lane, *place))).collect();
        let mut found = self.batch(primaries).await?;
        let mut deliveries = Vec::with_capacity(keys.len());
        for (lane, place) in keys {
            let item = Item::Delivery(&lane, place);
            // One that has expired may be in the index for a while.
            if let Some(item) = found.remove(&(item.pk(), item.sk())) {
                let item: DeliveryItem = decode(item).map_err(unreadable)?;
                deliveries.push(item.into_delivery(lane, place));
            }
        }
        Ok(deliveries)
    }

    async fn list_deliveries(
        &self,
        (org, webhook): (&OrgId, &WebhookId),
        (from, to): (String, String),
        newest_first: bool,
        limit: usize,
    ) -> Result<Page<Delivery>, Unavailable> {
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :webhook AND GSI1SK BETWEEN :from AND :to")
            .expression_attribute_values(":webhook", AttributeValue::S(key::webhook_index(org, webhook)))
            .expression_attribute_values(":from", AttributeValue::S(from))
            .expression_attribute_values(":to", AttributeValue::S(to))
            .scan_index_forward(!newest_first)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let listed = page.items.unwrap_or_default();
        let last = page.last_evaluated_key.and(listed.last());
        let next = last.and_then(|last| text(last, "GSI1SK")).map(str::to_owned);
        let keys =
            listed.iter().filter_map(|item| keys_of(item).and_then(|(pk, sk)| key::parse_delivery(&pk, &sk)));
        Ok(Page { items: self.deliveries_of(keys.collect()).await?, next })
    }

    /// Returns the pending deliveries of a lane in a page of items, and the last place of the page if there are more.
    async fn lane_page(
        &self,
        lane: &LaneKey,
        from: LanePosition,
    ) -> Result<(Vec<Delivery>, Option<LanePosition>), Unavailable> {
        let first = Item::Delivery(lane, from);
        let end = format!("{}$", key::delivery_prefix(lane).trim_end_matches('#'));
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :session AND SK BETWEEN :from AND :end")
            .expression_attribute_values(":session", AttributeValue::S(first.pk()))
            .expression_attribute_values(":from", AttributeValue::S(first.sk()))
            .expression_attribute_values(":end", AttributeValue::S(end))
            .limit(LANE_PAGE)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let more = page.last_evaluated_key.is_some();
        let (mut deliveries, mut last) = (Vec::new(), None);
        for item in page.items.unwrap_or_default() {
            let Some((_, place)) = keys_of(&item).and_then(|(pk, sk)| key::parse_delivery(&pk, &sk)) else {
                continue;
            };
            last = Some(place);
            let item: DeliveryItem = decode(item).map_err(unreadable)?;
            deliveries.push(item.into_delivery(lane.clone(), place));
        }
        Ok((deliveries, last.filter(|_| more)))
    }

    /// Returns the update of a lane by its sender.
    fn lane_update(lane: &Lane, step: LaneStep) -> Expression {
        let mut write = Expression { key: primary(&Item::Lane(&lane.key)), ..Expression::default() }
            .require("Owner", AttributeValue::S(lane.owner.to_string()));
        let mut set = |name: &str, value: AttributeValue| {
            let placeholder = format!(":{}", name.to_lowercase());
            write.values.insert(placeholder.clone(), value);
            format!("{name} = {placeholder}")
        };
        let next = set("NextPlace", AttributeValue::S(key::place_part(lane.next)));
        let due = |set: &mut dyn FnMut(&str, AttributeValue) -> String, at: Timestamp| {
            let due = set("Due", AttributeValue::S(at.to_string()));
            let index = set("GSI1SK", AttributeValue::S(key::lane_due(at, &lane.key)));
            format!("{due}, {index}")
        };
        write.update = match step {
            LaneStep::Hold(until) => {
                let due = due(&mut set, until);
                let lease = set("Lease", AttributeValue::S(until.to_string()));
                format!("SET {next}, {due}, {lease}")
            }
            LaneStep::Wait(at) => format!("SET {next}, {} REMOVE #owner, Lease", due(&mut set, at)),
            LaneStep::Rest => format!("SET {next} REMOVE #owner, Lease, Due, GSI1PK, GSI1SK, Rewind"),
        };
        if !matches!(step, LaneStep::Hold(_)) {
            // A reserved word.
            write.names.insert("#owner".to_owned(), "Owner".to_owned());
        }
        match step {
            LaneStep::Rest => write.require("Added", AttributeValue::N(lane.added.to_string())),
            LaneStep::Hold(_) | LaneStep::Wait(_) => write,
        }
    }
}

/// Returns the update that makes a lane due, unless it is due or leased already. Its sender sees that events were added.
fn wake(lane: &LaneKey, at: Timestamp) -> Expression {
    let shard = key::purge_shard(&lane.session);
    Expression {
        key: primary(&Item::Lane(lane)),
        update: "SET V = :version, Due = if_not_exists(Due, :due), GSI1PK = :shard, \
                 GSI1SK = if_not_exists(GSI1SK, :index) ADD Added :one"
            .to_owned(),
        values: [
            (":version", AttributeValue::N(crate::item::VERSION.to_string())),
            (":due", AttributeValue::S(at.to_string())),
            (":shard", AttributeValue::S(key::lane_index(shard))),
            (":index", AttributeValue::S(key::lane_due(at, lane))),
            (":one", AttributeValue::N("1".to_owned())),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
        ..Expression::default()
    }
}

fn lane_of(key: &LaneKey, owner: &AttemptId, item: &Attributes) -> Lane {
    let next = text(item, "NextPlace").filter(|_| !item.contains_key("Rewind"));
    let next = next.and_then(|place| place.split_once('#'));
    let next = next.and_then(|(sequence, number)| {
        Some(LanePosition { sequence: sequence.parse().ok()?, number: number.parse().ok()? })
    });
    let added = item.get("Added").and_then(|added| added.as_n().ok()?.parse().ok());
    Lane {
        key: key.clone(),
        owner: owner.clone(),
        next: next.unwrap_or_default(),
        added: added.unwrap_or_default(),
    }
}

impl Outbox for Table {
    async fn claim_lane(
        &self,
        key: &LaneKey,
        owner: &AttemptId,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<Lane>, Unavailable> {
        let claimed = self
            .client
            .update_item()
            .table_name(&self.name)
            .set_key(Some(primary(&Item::Lane(key))))
            .update_expression("SET #owner = :owner, Lease = :until, Due = :until, GSI1SK = :index")
            .condition_expression("Due <= :now AND (attribute_not_exists(Lease) OR Lease <= :now)")
            .expression_attribute_names("#owner", "Owner")
            .expression_attribute_values(":owner", AttributeValue::S(owner.to_string()))
            .expression_attribute_values(":until", AttributeValue::S(until.to_string()))
            .expression_attribute_values(":now", AttributeValue::S(now.to_string()))
            .expression_attribute_values(":index", AttributeValue::S(key::lane_due(until, key)))
            .return_values(ReturnValue::AllNew)
            .send()
            .await;
        match claimed {
            Ok(claimed) => Ok(claimed.attributes.map(|item| lane_of(key, owner, &item))),
            Err(error) => match failure::write_error(error) {
                WriteError::ConditionFailed => Ok(None),
                WriteError::Contended => {
                    Err(Unavailable { what: RESOURCE, source: "the lane is contended".into() })
                }
                WriteError::Unknown(source) => Err(Unavailable { what: RESOURCE, source }),
            },
        }
    }

    async fn pending(
        &self,
        lane: &LaneKey,
        from: LanePosition,
    ) -> Result<(Vec<Delivery>, Option<LanePosition>), Unavailable> {
        let mut from = from;
        loop {
            let (mut deliveries, more) = self.lane_page(lane, from).await?;
            deliveries.retain(|delivery| delivery.state == contracts::read::DeliveryState::Pending);
            let is_cut = deliveries.len() > PENDING_PAGE_SIZE;
            deliveries.truncate(PENDING_PAGE_SIZE);
            let cut = deliveries.last().filter(|_| is_cut).map(|last| last.place);
            let next = cut.or(more).map(LanePosition::following);
            match next {
                Some(next) if deliveries.is_empty() => from = next,
                _ => return Ok((deliveries, next)),
            }
        }
    }

    async fn conclude(&self, delivery: &Delivery, lane: &Lane, step: LaneStep) -> Result<(), WriteError> {
        let items = || -> Result<Vec<TransactWriteItem>, Source> {
            let mut write = replace(encode(delivery)?, OPTIONAL);
            write.condition = "attribute_exists(PK)".to_owned();
            Ok(vec![self.update(write)?, self.update(Self::lane_update(lane, step))?])
        };
        self.transact(items().map_err(WriteError::Unknown)?).await
    }

    async fn step_lane(&self, lane: &Lane, step: LaneStep) -> Result<(), WriteError> {
        self.replace_item(Self::lane_update(lane, step)).await
    }

    async fn due_lanes(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<LaneKey>, Unavailable> {
        let lane = |item: &Attributes| key::parse_lane(text(item, "PK")?, text(item, "SK")?);
        self.due_in(key::lane_index(shard), now, after, lane).await
    }

    async fn deliveries(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Delivery>, Unavailable> {
        // Times begin with a digit, and both bounds are inclusive: the last character of a place is a digit.
        let to = after.map_or_else(|| ":".to_owned(), before);
        self.list_deliveries((org, webhook), ("0".to_owned(), to), true, limit).await
    }

    async fn deliveries_since(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        since: Timestamp,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Delivery>, Unavailable> {
        // The appended NUL makes the lower bound exclusive.
        let from = after.map_or_else(|| since.to_string(), |after| format!("{after}\u{0}"));
        self.list_deliveries((org, webhook), (from, ":".to_owned()), false, limit).await
    }

    async fn delivery(&self, lane: &LaneKey, id: &str) -> Result<Option<Delivery>, Unavailable> {
        let mut from = LanePosition::default();
        loop {
            let (deliveries, more) = self.lane_page(lane, from).await?;
            if let Some(found) = deliveries.into_iter().find(|delivery| delivery.id == id) {
                return Ok(Some(found));
            }
            match more {
                Some(last) => from = last.following(),
                None => return Ok(None),
            }
        }
    }

    async fn requeue(&self, delivery: &Delivery, now: Timestamp) -> Result<(), WriteError> {
        let items = || -> Result<Vec<TransactWriteItem>, Source> {
            let mut write = replace(encode(delivery)?, OPTIONAL);
            write.condition = "attribute_exists(PK)".to_owned();
            let mut lane = wake(&delivery.lane, now);
            // At once, whatever the lane waits for. A sender may have passed this place, so every sender begins with the
            // first one until the lane rests.
            lane.update = "SET Due = :due, GSI1PK = :shard, GSI1SK = :index, Rewind = :rewind ADD Added :one"
                .to_owned();
            lane.values.remove(":version");
            lane.values.insert(":rewind".to_owned(), AttributeValue::Bool(true));
            lane.condition = "attribute_exists(PK)".to_owned();
            Ok(vec![self.update(write)?, self.update(lane)?])
        };
        self.transact(items().map_err(WriteError::Unknown)?).await
    }

    async fn health(&self, org: &OrgId, webhook: &WebhookId) -> Result<Health, Unavailable> {
        let item = self.get(&Item::WebhookHealth(org, webhook)).await?;
        let item = item.map(|item| decode::<HealthItem>(item).map_err(unreadable)).transpose()?;
        Ok(item.map(Health::from).unwrap_or_default())
    }

    async fn write_health(
        &self,
        org: &OrgId,
        webhook: &WebhookId,
        health: &Health,
    ) -> Result<(), WriteError> {
        let item = encode_item(&Item::WebhookHealth(org, webhook), &HealthItem::from(health));
        let write = replace(item.map_err(|error| WriteError::Unknown(error.into()))?, HEALTH_OPTIONAL);
        let write = match health.rev {
            0 => write.require_absent("Rev"),
            rev => write.require("Rev", AttributeValue::N(rev.to_string())),
        };
        self.replace_item(write).await
    }
}

/// Returns the greatest sort key before one that ends with a digit.
fn before(key: String) -> String {
    let (rest, last) = key.split_at(key.len().saturating_sub(1));
    match last.parse::<u8>() {
        Ok(0) | Err(_) => format!("{rest}/"),
        Ok(digit) => format!("{rest}{}~", digit - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_before_a_key_excludes_it_and_includes_the_one_before() {
        for (earlier, key) in [("x#009", "x#010"), ("x#000", "x#001"), ("w#999", "x#000"), ("x#018", "x#019")]
        {
            let bound = before(key.to_owned());
            assert!(bound.as_str() < key && earlier <= bound.as_str(), "{bound}");
        }
    }
}
