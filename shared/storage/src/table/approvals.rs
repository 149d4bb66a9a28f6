//! Approvals: put once, answered once while the turn waits, and listed for those who may answer.

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use contracts::{Timestamp, id::OrgId};
use protocol::{
    approval::{Approval, ApprovalId},
    change::TurnChange,
    id::TurnKey,
};
use turns::ports::{Audience, Page, Source, Unavailable, WriteError};

use super::{
    RESOURCE, Table,
    list::keys_of,
    read::{primary, text, unreadable},
    write::ABSENT,
};
use crate::{
    failure,
    item::{
        Attributes,
        approval::{ApprovalItem, ListedItem},
        decode, encode, encode_item,
    },
    key::{self, Item},
};

/// The condition on an approval that has no answer.
const UNANSWERED: &str = "attribute_exists(PK) AND attribute_not_exists(Answer)";

impl Table {
    /// Stores an approval and its places in the lists, in one transaction. One that is stored already stays as it is.
    pub(super) async fn write_approval(&self, approval: &Approval) -> Result<(), WriteError> {
        let items = || -> Result<Vec<TransactWriteItem>, Source> {
            let mut items = vec![self.put(encode(approval)?, Some(ABSENT))?];
            for (n, audience) in Audience::of(approval).iter().enumerate() {
                let key = Item::ListedApproval(&approval.turn, &approval.id, n);
                items.push(self.put(encode_item(&key, &ListedItem::new(approval, audience))?, None)?);
            }
            Ok(items)
        };
        match self.transact(items().map_err(WriteError::Unknown)?).await {
            Err(WriteError::ConditionFailed) => Ok(()),
            written => written,
        }
    }

    /// Stores an answer with the change of its turn, and takes the approval from the lists. Conditions: it has no answer, and
    /// that of the change.
    pub(super) async fn write_answer(
        &self,
        approval: &Approval,
        waiting: &TurnChange,
    ) -> Result<(), WriteError> {
        let items = || -> Result<Vec<TransactWriteItem>, Source> {
            let mut items = vec![self.head(waiting)?, self.put(encode(approval)?, Some(UNANSWERED))?];
            for n in 0..Audience::of(approval).len() {
                let update = Update::builder()
                    .table_name(&self.name)
                    .set_key(Some(primary(&Item::ListedApproval(&approval.turn, &approval.id, n))))
                    .update_expression("REMOVE GSI1PK, GSI1SK")
                    .build()?;
                items.push(TransactWriteItem::builder().update(update).build());
            }
            Ok(items)
        };
        self.transact(items().map_err(WriteError::Unknown)?).await
    }

    pub(super) async fn read_approvals(&self, turn: &TurnKey) -> Result<Vec<Approval>, Unavailable> {
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let page = self
                .client
                .query()
                .table_name(&self.name)
                .consistent_read(true)
                .key_condition_expression("PK = :session AND begins_with(SK, :prefix)")
                .expression_attribute_values(":session", AttributeValue::S(Item::Turn(turn).pk()))
                .expression_attribute_values(":prefix", AttributeValue::S(key::approval_prefix(turn)))
                .set_exclusive_start_key(start)
                .send()
                .await
                .map_err(|error| failure::unavailable(RESOURCE, error))?;
            // Places in lists have no call.
            for item in page.items.unwrap_or_default().into_iter().filter(|item| item.contains_key("Call")) {
                found.push(decode::<ApprovalItem>(item).map_err(unreadable)?.into_approval(turn.clone()));
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    pub(super) async fn find_approval(
        &self,
        org: &OrgId,
        id: &ApprovalId,
    ) -> Result<Option<Approval>, Unavailable> {
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :id")
            .expression_attribute_values(":id", AttributeValue::S(key::approval_index(org, id)))
            .limit(1)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        match page.items.unwrap_or_default().into_iter().next() {
            Some(found) => self.read_listed(&found).await,
            None => Ok(None),
        }
    }

    pub(super) async fn list_approvals(
        &self,
        org: &OrgId,
        audience: &Audience,
        now: Timestamp,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<(String, Approval)>, Unavailable> {
        // `$` sorts after the `#` that ends the time, so one that expires now is left out.
        let from = after.unwrap_or_default().max(format!("{now}$"));
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :list AND GSI1SK > :after")
            .expression_attribute_values(":list", AttributeValue::S(key::approvals_index(org, audience)))
            .expression_attribute_values(":after", AttributeValue::S(from))
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
        for item in listed {
            let place = text(&item, "GSI1SK").unwrap_or_default().to_owned();
            let found = self.read_listed(&item).await?;
            items.extend(found.filter(|found| found.answer.is_none()).map(|found| (place, found)));
        }
        Ok(Page { items, next })
    }

    /// Reads the approval of an entry of the index, which has the keys alone.
    async fn read_listed(&self, entry: &Attributes) -> Result<Option<Approval>, Unavailable> {
        let found = keys_of(entry).and_then(|(pk, sk)| {
            let (turn, id) = key::parse_approval(&sk)?;
            Some((key::parse_session(&pk)?.turn(turn), id))
        });
        let Some((turn, id)) = found else { return Ok(None) };
        let read = self
            .client
            .get_item()
            .table_name(&self.name)
            .consistent_read(true)
            .set_key(Some(primary(&Item::Approval(&turn, &id))))
            .send();
        let item = read.await.map_err(|error| failure::unavailable(RESOURCE, error))?.item;
        let approval = item.map(|item| decode::<ApprovalItem>(item).map(|item| item.into_approval(turn)));
        approval.transpose().map_err(unreadable)
    }
}
