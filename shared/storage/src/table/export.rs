//! Exported items: attributes as JSON, without those that derive from the key.

use aws_sdk_dynamodb::types::AttributeValue;
use protocol::id::SessionKey;
use serde_json::Value;
use turns::ports::{ArchiveItem, InvalidItem, Page, RawItem, Unavailable};

use super::{RESOURCE, Table, item_size::size_of, list::keys_of};
use crate::{
    failure,
    item::{
        Attributes, Unreadable, Unwritable, decode,
        detail::{FeedbackItem, ModeItem, ParticipantItem, REQUEST_JSON, RequestItem, ResultItem},
        effect::IntentItem,
        encode,
        session::SessionItem,
        turn::TurnItem,
    },
    key::{self, Item, TurnItemKind},
};

/// The page size of reads.
const ITEMS_PAGE: i32 = 100;

/// The largest item of an import in bytes. DynamoDB's limit is 400 KB, and an item grows when its turn is finalized.
const MAX_ITEM_BYTES: usize = 350 * 1024;

/// The member that contains an exported item's sort key.
const KEY_MEMBER: &str = "Key";

/// The attributes that derive from the key and from other attributes.
const DERIVED_ATTRIBUTES: [&str; 4] = ["PK", "SK", "GSI1PK", "GSI1SK"];

impl Table {
    pub(super) async fn read_items(
        &self,
        session: &SessionKey,
        after: Option<String>,
    ) -> Result<Page<RawItem>, Unavailable> {
        let pk = Item::Session(session).pk();
        let start = after.map(|sk| {
            Attributes::from([
                ("PK".to_owned(), AttributeValue::S(pk.clone())),
                ("SK".to_owned(), AttributeValue::S(sk)),
            ])
        });
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("PK = :session")
            .expression_attribute_values(":session", AttributeValue::S(pk))
            .limit(ITEMS_PAGE)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let next = page.last_evaluated_key.as_ref().and_then(keys_of).map(|(_, sk)| sk);
        let items = page.items.unwrap_or_default().into_iter();
        let items: Result<Vec<Option<RawItem>>, _> = items.map(export_item).collect();
        let unwritable = |error: serde_dynamo::Error| Unavailable { what: RESOURCE, source: error.into() };
        Ok(Page { items: items.map_err(unwritable)?.into_iter().flatten().collect(), next })
    }
}

/// Encodes an item of an import.
pub(super) fn encode_archive_item(item: &ArchiveItem) -> Result<Attributes, Unwritable> {
    match item {
        ArchiveItem::Feedback(feedback) => encode(feedback),
        ArchiveItem::Session(session) => encode(&**session),
        ArchiveItem::Turn(turn) => encode(&**turn),
        ArchiveItem::Request(request) => encode(&**request),
        ArchiveItem::Result(result) => encode(&**result),
        ArchiveItem::Participant(participant) => encode(participant),
        ArchiveItem::ModeChange(change) => encode(change),
        ArchiveItem::Intent(intent) => encode(intent),
    }
}

/// Converts an item for an export. Returns `None` for items that an import ignores.
fn export_item(item: Attributes) -> Result<Option<RawItem>, serde_dynamo::Error> {
    let Some((_, sk)) = keys_of(&item).filter(|(_, sk)| kind_of(sk).is_some()) else { return Ok(None) };
    let mut members: RawItem = serde_dynamo::from_item(item)?;
    omitted_attributes().for_each(|name| drop(members.remove(name)));
    members.insert(KEY_MEMBER.to_owned(), Value::String(sk));
    Ok(Some(members))
}

/// Returns the attributes that exports leave out. An inline request is exported as its object.
fn omitted_attributes() -> impl Iterator<Item = &'static str> {
    DERIVED_ATTRIBUTES.into_iter().chain([REQUEST_JSON])
}

/// The kinds of items in an export.
#[derive(Clone, Copy)]
enum Kind {
    Session,
    Turn(TurnItemKind),
    Participant,
    Feedback,
    ModeChange,
    Intent,
}

fn kind_of(sk: &str) -> Option<Kind> {
    if let Some((_, of)) = key::parse_turn_item(sk) {
        return Some(Kind::Turn(of));
    }
    match sk.split_once('#') {
        None if sk == "SESSION" => Some(Kind::Session),
        Some(("USER", _)) => Some(Kind::Participant),
        Some(("FEEDBACK", _)) => Some(Kind::Feedback),
        Some(("MODE", _)) => Some(Kind::ModeChange),
        Some(("EFFECTS", _)) => Some(Kind::Intent),
        _ => None,
    }
}

/// Parses an item of an export.
pub(super) fn item_from_export(
    session: &SessionKey,
    mut members: RawItem,
) -> Result<ArchiveItem, InvalidItem> {
    let Some(Value::String(sk)) = members.remove(KEY_MEMBER) else { return Err(InvalidItem::Key) };
    let kind = kind_of(&sk).ok_or(InvalidItem::Key)?;
    if let Some(name) = omitted_attributes().find(|name| members.contains_key(*name)) {
        return Err(InvalidItem::Unknown(name.to_owned()));
    }
    let names: Vec<String> = members.keys().cloned().collect();
    let mut item: Attributes =
        serde_dynamo::to_item(members).map_err(|_| InvalidItem::Malformed("no item".to_owned()))?;
    item.extend(DERIVED_ATTRIBUTES.map(|name| (name.to_owned(), AttributeValue::S(String::new()))));
    let (part, encoded) = read(session, &sk, kind, item).map_err(invalid)?.ok_or(InvalidItem::Key)?;
    if encoded.get("SK").and_then(|entity| entity.as_s().ok()) != Some(&sk) {
        return Err(InvalidItem::Key);
    }
    let size = size_of(&encoded);
    if size > MAX_ITEM_BYTES {
        return Err(InvalidItem::TooLarge { size, most: MAX_ITEM_BYTES });
    }
    let unknown = |name: &&String| !encoded.contains_key(*name);
    match names.iter().find(unknown) {
        Some(name) => Err(InvalidItem::Unknown(name.clone())),
        None => Ok(part),
    }
}

/// Returns the item and its current encoding.
fn read(
    session: &SessionKey,
    sk: &str,
    kind: Kind,
    item: Attributes,
) -> Result<Option<(ArchiveItem, Attributes)>, Unreadable> {
    fn with_encoding(
        part: ArchiveItem,
        encoded: Result<Attributes, Unwritable>,
    ) -> Result<Option<(ArchiveItem, Attributes)>, Unreadable> {
        let encoded = encoded.map_err(|_| Unreadable::Lacks("a form of its own"))?;
        Ok(Some((part, encoded)))
    }
    match kind {
        Kind::Session => {
            let entity = decode::<SessionItem>(item)?.into_session(session.clone());
            with_encoding(ArchiveItem::Session(Box::new(entity.clone())), encode(&entity))
        }
        Kind::Turn(of) => {
            let Some((turn, _)) = key::parse_turn_item(sk) else { return Ok(None) };
            let turn = session.turn(turn);
            match of {
                TurnItemKind::Head => {
                    let entity = decode::<TurnItem>(item)?.into_turn(turn)?;
                    with_encoding(ArchiveItem::Turn(Box::new(entity.clone())), encode(&entity))
                }
                TurnItemKind::Request => {
                    let entity = decode::<RequestItem>(item)?.into_request(turn);
                    with_encoding(ArchiveItem::Request(Box::new(entity.clone())), encode(&entity))
                }
                TurnItemKind::Result => {
                    let entity = decode::<ResultItem>(item)?.into_result(turn);
                    with_encoding(ArchiveItem::Result(Box::new(entity.clone())), encode(&entity))
                }
            }
        }
        Kind::Participant => {
            let Some(user) = key::parse_user(sk) else { return Ok(None) };
            let entity = decode::<ParticipantItem>(item)?.into_participant(session.clone(), user);
            with_encoding(ArchiveItem::Participant(entity.clone()), encode(&entity))
        }
        Kind::Feedback => {
            let entity = decode::<FeedbackItem>(item)?.into_session_feedback(session);
            with_encoding(ArchiveItem::Feedback(entity.clone()), encode(&entity))
        }
        Kind::ModeChange => {
            let entity = decode::<ModeItem>(item)?.into_mode_change(session);
            with_encoding(ArchiveItem::ModeChange(entity.clone()), encode(&entity))
        }
        Kind::Intent => {
            let Some(turn) = key::parse_intent(sk) else { return Ok(None) };
            let entity = decode::<IntentItem>(item)?.into_intent(session.turn(turn));
            with_encoding(ArchiveItem::Intent(entity.clone()), encode(&entity))
        }
    }
}

fn invalid(error: Unreadable) -> InvalidItem {
    match error {
        Unreadable::Newer(_) => InvalidItem::Newer,
        Unreadable::Malformed { .. } | Unreadable::Lacks(_) => InvalidItem::Malformed(error.to_string()),
    }
}
