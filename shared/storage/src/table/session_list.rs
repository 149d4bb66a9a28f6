//! Lists of sessions by their last activity, of an org or a user.
//!
//! An org's list is one partition of the index, which takes 1,000 write units a second. A turn moves its session twice, with two
//! units each. So the list of a busy org can be spread over shards, and its readers merge them.

use aws_sdk_dynamodb::{operation::query::QueryOutput, types::AttributeValue};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::{
    Timestamp,
    id::{OrgId, UserId},
    json_bytes,
};
use futures::future::try_join_all;
use protocol::{id::SessionKey, session::Session};
use turns::ports::{ListError, Page, TimeRange, Unavailable};

use super::{
    RESOURCE, Table,
    list::keys_of,
    read::{primary, session_of},
};
use crate::{
    failure,
    item::Attributes,
    key::{self, Item},
};

/// A range of a list to read, newest first.
struct Range<'a> {
    active: &'a TimeRange,
    limit: usize,
    /// The position to read on from.
    after: Option<ListPosition>,
}

/// A position in a list: a session, or a user's participation in it, with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ListPosition {
    sort: String,
    pk: String,
    sk: String,
}

/// A part of a list.
struct Part {
    positions: Vec<ListPosition>,
    is_last: bool,
}

impl Table {
    pub(super) async fn list_sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &TimeRange,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        let after = after.map(|token| ListPosition::parse(&token, org, user).ok_or(ListError::InvalidToken));
        let range = Range { active, limit, after: after.transpose()? };
        let part = match user {
            Some(user) => self.read_part(key::user_index(org, user), &range).await?,
            None if self.shards_lists => self.read_shards(org, &range).await?,
            None => self.read_part(key::org_index(org), &range).await?,
        };
        let next = part.positions.last().filter(|_| !part.is_last).and_then(ListPosition::token);
        let keys: Vec<SessionKey> =
            part.positions.iter().filter_map(|position| key::parse_session(&position.pk)).collect();
        let mut found = self.batch(keys.iter().map(|key| primary(&Item::Session(key))).collect()).await?;
        let mut items = Vec::with_capacity(keys.len());
        for key in keys {
            let item = Item::Session(&key);
            if let Some(item) = found.remove(&(item.pk(), item.sk())) {
                items.push(session_of(item, key)?);
            }
        }
        Ok(Page { items, next })
    }

    /// Reads the shards of an org's list, and what was written before it had shards.
    async fn read_shards(&self, org: &OrgId, range: &Range<'_>) -> Result<Part, Unavailable> {
        let indexes = std::iter::once(key::org_index(org)).chain(key::org_shards(org));
        let parts = try_join_all(indexes.map(|index| self.read_shard(index, range))).await?;
        Ok(merge(parts, range.limit))
    }

    /// Reads a shard after a position that may be another shard's.
    async fn read_shard(&self, index: String, range: &Range<'_>) -> Result<Part, Unavailable> {
        let sort = range.after.as_ref().map(|after| after.sort.clone());
        // The bound is part of the range, so the position itself may come again.
        let limit = range.limit.saturating_add(usize::from(sort.is_some()));
        let to = sort.clone().unwrap_or_else(|| key::activity_to(range.active.to));
        let page = self.query_list(index, range.active, to, limit, None).await?;
        let mut part = Part::of(&page);
        part.positions.retain(|position| Some(&position.sort) != sort.as_ref());
        Ok(part)
    }

    async fn read_part(&self, index: String, range: &Range<'_>) -> Result<Part, Unavailable> {
        let start = range.after.clone().map(|after| after.start(&index));
        let to = key::activity_to(range.active.to);
        self.query_list(index, range.active, to, range.limit, start).await.map(|page| Part::of(&page))
    }

    async fn query_list(
        &self,
        index: String,
        active: &TimeRange,
        to: String,
        limit: usize,
        start: Option<Attributes>,
    ) -> Result<QueryOutput, Unavailable> {
        self.client
            .query()
            .table_name(&self.name)
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :index AND GSI1SK BETWEEN :from AND :to")
            .expression_attribute_values(":index", AttributeValue::S(index))
            .expression_attribute_values(":from", AttributeValue::S(key::activity_from(active.from)))
            .expression_attribute_values(":to", AttributeValue::S(to))
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))
    }

    /// Moves a session's item to its shard of the org's list.
    pub(super) fn shard_session(&self, item: &mut Attributes, session: &SessionKey) {
        if self.shards_lists && item.contains_key("GSI1PK") {
            let index = key::org_shard(&session.org, key::list_shard(session));
            item.insert("GSI1PK".to_owned(), AttributeValue::S(index));
        }
    }
}

impl Part {
    fn of(page: &QueryOutput) -> Self {
        let positions = page.items().iter().filter_map(ListPosition::of).collect();
        Self { positions, is_last: page.last_evaluated_key().is_none() }
    }
}

/// Merges the parts of shards, each newest first.
fn merge(parts: Vec<Part>, limit: usize) -> Part {
    let mut is_last = parts.iter().all(|part| part.is_last);
    let mut positions: Vec<ListPosition> = parts.into_iter().flat_map(|part| part.positions).collect();
    positions.sort_unstable_by(|a, b| b.sort.cmp(&a.sort));
    is_last &= positions.len() <= limit;
    positions.truncate(limit);
    Part { positions, is_last }
}

impl ListPosition {
    fn of(item: &Attributes) -> Option<Self> {
        let (pk, sk) = keys_of(item)?;
        Some(Self { sort: item.get("GSI1SK")?.as_s().ok()?.clone(), pk, sk })
    }

    /// Returns the position as an opaque token.
    fn token(&self) -> Option<String> {
        let keys = serde_json::to_vec(&[&self.sort, &self.pk, &self.sk]).ok()?;
        Some(URL_SAFE_NO_PAD.encode(keys))
    }

    /// Parses a page token. Clients may send anything, so it must match exactly what this list produces: a session of the
    /// caller's org, or the user's participation in one, and a timestamp before it.
    fn parse(token: &str, org: &OrgId, user: Option<&UserId>) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let [sort, pk, sk]: [String; 3] = json_bytes::from_slice(&bytes).ok()?;
        let session = key::parse_session(&pk).filter(|session| session.org == *org)?;
        let item = user.map_or(Item::Session(&session), |user| Item::Participant(&session, user));
        let at: Timestamp = sort.split_once('#')?.0.parse().ok()?;
        let is_own = pk == item.pk() && sk == item.sk() && sort == key::activity(at, &session);
        is_own.then_some(Self { sort, pk, sk })
    }

    /// Returns the key after which a query of this index begins.
    fn start(self, index: &str) -> Attributes {
        let text = |name: &str, value: String| (name.to_owned(), AttributeValue::S(value));
        Attributes::from([
            text("GSI1PK", index.to_owned()),
            text("GSI1SK", self.sort),
            text("PK", self.pk),
            text("SK", self.sk),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session's turn writes this many units to its org's list: two moves of one small item.
    const UNITS_PER_TURN: f64 = 4.0;
    /// The units that a partition takes in a second.
    const PARTITION_UNITS: f64 = 1_000.0;

    #[test]
    fn shards_of_an_org_take_two_thousand_turns_a_second() {
        let org = OrgId::new("acme").unwrap();
        let mut written = std::collections::BTreeMap::<String, f64>::new();
        for number in 0..2_000 {
            let session = SessionKey { org: org.clone(), session: format!("s{number}").parse().unwrap() };
            *written.entry(key::org_shard(&org, key::list_shard(&session))).or_default() += UNITS_PER_TURN;
        }
        let most = written.values().copied().fold(0.0, f64::max);
        assert!(most < PARTITION_UNITS, "{most} units a second: {written:?}");
        assert!(key::org_shards(&org).all(|shard| written.contains_key(&shard)), "{written:?}");
    }

    #[test]
    fn parts_are_merged_newest_first() {
        let position =
            |sort: &str| ListPosition { sort: sort.to_owned(), pk: String::new(), sk: String::new() };
        let part = |sorts: &[&str], is_last| Part {
            positions: sorts.iter().map(|sort| position(sort)).collect(),
            is_last,
        };
        let sorts =
            |part: &Part| part.positions.iter().map(|position| position.sort.clone()).collect::<Vec<_>>();
        let merged = merge(vec![part(&["9", "4"], true), part(&["7", "5"], true), part(&[], true)], 3);
        assert_eq!((sorts(&merged), merged.is_last), (vec!["9".into(), "7".into(), "5".into()], false));
        let whole = merge(vec![part(&["9"], true), part(&["7"], true)], 3);
        assert_eq!((sorts(&whole), whole.is_last), (vec!["9".into(), "7".into()], true));
        assert!(!merge(vec![part(&["9"], false)], 3).is_last);
    }
}
