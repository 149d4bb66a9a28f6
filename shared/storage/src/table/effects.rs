//! The ledger of effects: intents under the condition that their attempt runs the turn, and calls whose outcome is unknown.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, KeysAndAttributes, TransactWriteItem};
use contracts::{Fingerprint, id::OrgId};
use protocol::{
    change::Condition,
    effect::{Intent, UnknownEffect},
    id::{AttemptId, SessionKey, TurnKey},
    turn::Phase,
};
use turns::ports::{Page, Source, Unavailable, WriteError};

use super::{
    RESOURCE, Table,
    expression::Expression,
    list::keys_of,
    read::{primary, text, unreadable},
    write::ABSENT,
};
use crate::{
    failure,
    item::{
        Attributes, decode,
        effect::{IntentItem, UnknownItem},
        encode,
    },
    key::{self, Item},
};

/// The attribute of an unknown outcome that a person resolved.
const RESOLVED: &str = "Resolved";
/// The condition that no equal call has an unknown outcome.
const NOT_MARKED: &str = "attribute_not_exists(PK) OR attribute_exists(Resolved)";
/// DynamoDB reads at most this many items at once.
const READ_BATCH: usize = 100;

impl Table {
    /// Writes an intent in one transaction with its conditions: the attempt runs the turn, the round has no intent yet, and
    /// no equal call has an unknown outcome.
    pub(super) async fn write_intent(&self, intent: &Intent) -> Result<(), WriteError> {
        let items = || -> Result<Vec<TransactWriteItem>, Source> {
            let session = &intent.turn.session;
            let mut items =
                vec![self.running(&intent.turn, &intent.attempt)?, self.put(encode(intent)?, Some(ABSENT))?];
            for hash in intent.hashes() {
                let check = self.check(primary(&Item::UnknownEffect(session, &hash)));
                let check = check.condition_expression(NOT_MARKED).build()?;
                items.push(TransactWriteItem::builder().condition_check(check).build());
            }
            Ok(items)
        };
        self.transact(items().map_err(WriteError::Unknown)?).await
    }

    /// Stores calls with an unknown outcome, if the attempt runs the turn.
    pub(super) async fn write_unknown(
        &self,
        turn: &TurnKey,
        attempt: &AttemptId,
        effects: &[UnknownEffect],
    ) -> Result<(), WriteError> {
        let items = || -> Result<Vec<TransactWriteItem>, Source> {
            let mut items = vec![self.running(turn, attempt)?];
            items.extend(self.unknown_puts(effects)?);
            Ok(items)
        };
        self.transact(items().map_err(WriteError::Unknown)?).await
    }

    /// Returns the puts of calls with an unknown outcome. Equal calls are one item.
    pub(super) fn unknown_puts(&self, effects: &[UnknownEffect]) -> Result<Vec<TransactWriteItem>, Source> {
        let mut hashes = BTreeSet::new();
        let distinct = effects.iter().filter(|effect| hashes.insert(effect.call.hash));
        distinct.map(|effect| Ok(self.put(encode(effect)?, None)?)).collect()
    }

    pub(super) async fn read_newest_intent(&self, turn: &TurnKey) -> Result<Option<Intent>, Unavailable> {
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :session AND begins_with(SK, :prefix)")
            .expression_attribute_values(":session", AttributeValue::S(Item::Turn(turn).pk()))
            .expression_attribute_values(":prefix", AttributeValue::S(key::intent_prefix(turn)))
            .scan_index_forward(false)
            .limit(1)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let newest = page.items.unwrap_or_default().into_iter().next();
        let intent = newest.map(|item| decode::<IntentItem>(item).map(|item| item.into_intent(turn.clone())));
        intent.transpose().map_err(unreadable)
    }

    pub(super) async fn read_unknown(
        &self,
        session: &SessionKey,
        hashes: &BTreeSet<Fingerprint>,
    ) -> Result<Vec<UnknownEffect>, Unavailable> {
        let hashes: Vec<&Fingerprint> = hashes.iter().collect();
        let mut found = Vec::new();
        for batch in hashes.chunks(READ_BATCH) {
            let mut keys: Vec<Attributes> =
                batch.iter().map(|hash| primary(&Item::UnknownEffect(session, hash))).collect();
            while !keys.is_empty() {
                let reads = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
                let reads = reads.map_err(|error| Unavailable { what: RESOURCE, source: error.into() })?;
                let got = self.client.batch_get_item().request_items(&self.name, reads).send().await;
                let got = got.map_err(|error| failure::unavailable(RESOURCE, error))?;
                let items = got.responses.unwrap_or_default().remove(&self.name).unwrap_or_default();
                for item in items.into_iter().filter(|item| !item.contains_key(RESOLVED)) {
                    let item = decode::<UnknownItem>(item).map_err(unreadable)?;
                    found.push(item.into_effect(session.clone()));
                }
                let left = got.unprocessed_keys.unwrap_or_default().remove(&self.name);
                keys = left.map(|left| left.keys).unwrap_or_default();
            }
        }
        Ok(found)
    }

    pub(super) async fn list_unknown(
        &self,
        org: &OrgId,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<UnknownEffect>, Unavailable> {
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :org AND GSI1SK > :after")
            .expression_attribute_values(":org", AttributeValue::S(key::unknown_index(org)))
            // Times begin with a digit.
            .expression_attribute_values(":after", AttributeValue::S(after.unwrap_or_else(|| "0".to_owned())))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let listed = page.items.unwrap_or_default();
        let next = page
            .last_evaluated_key
            .and(listed.last())
            .and_then(|last| text(last, "GSI1SK"))
            .map(str::to_owned);
        let mut items = Vec::new();
        for mut item in listed {
            let Some(session) = keys_of(&item).and_then(|(pk, _)| key::parse_session(&pk)) else { continue };
            // The index has the keys alone.
            item.retain(|name, _| ["PK", "SK"].contains(&name.as_str()));
            let read = self.client.get_item().table_name(&self.name).set_key(Some(item)).send().await;
            let item = read.map_err(|error| failure::unavailable(RESOURCE, error))?.item;
            if let Some(item) = item.filter(|item| !item.contains_key(RESOLVED)) {
                items.push(decode::<UnknownItem>(item).map_err(unreadable)?.into_effect(session));
            }
        }
        Ok(Page { items, next })
    }

    /// Marks an unknown outcome as resolved, and takes it from the index. The item stays: no function that serves requests may
    /// delete items.
    pub(super) async fn resolve_unknown(&self, effect: &UnknownEffect) -> Result<(), WriteError> {
        let key = primary(&Item::UnknownEffect(&effect.turn.session, &effect.call.hash));
        let mut write = Expression { key, ..Expression::default() }
            .require("Turn", AttributeValue::S(effect.turn.turn.to_string()))
            .require("Round", AttributeValue::N(effect.round.to_string()))
            .require("GSI1PK", AttributeValue::S(key::unknown_index(&effect.turn.session.org)));
        write.update = format!("SET {RESOLVED} = :resolved REMOVE GSI1PK, GSI1SK");
        write.values.insert(":resolved".to_owned(), AttributeValue::Bool(true));
        self.replace_item(write).await
    }

    /// Returns the condition that an attempt runs a turn.
    fn running(&self, turn: &TurnKey, attempt: &AttemptId) -> Result<TransactWriteItem, Source> {
        let condition =
            Condition::Unchanged { phase: Phase::Running, attempt: attempt.clone(), lease_ends: None };
        self.head_check(turn, &condition)
    }

    /// Returns the check of a condition on the head of a turn that exists.
    fn head_check(&self, turn: &TurnKey, condition: &Condition) -> Result<TransactWriteItem, Source> {
        let Some(owned) = Expression::default().with_condition(condition) else {
            return Err("a stored head has a condition".into());
        };
        let check = self
            .check(primary(&Item::Turn(turn)))
            .condition_expression(owned.condition)
            .set_expression_attribute_names(Some(owned.names))
            .set_expression_attribute_values(Some(owned.values))
            .build()?;
        Ok(TransactWriteItem::builder().condition_check(check).build())
    }

    fn check(&self, key: Attributes) -> aws_sdk_dynamodb::types::builders::ConditionCheckBuilder {
        ConditionCheck::builder().table_name(&self.name).set_key(Some(key))
    }
}
