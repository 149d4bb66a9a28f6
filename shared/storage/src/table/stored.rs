//! Items as exports hold them: their attributes as JSON, without what follows from their keys.

use aws_sdk_dynamodb::types::AttributeValue;
use protocol::id::SessionKey;
use serde_json::Value;
use turns::ports::{InvalidItem, Page, Part, StoredItem, Unavailable};

use super::{Table, WHAT, list::keys_of};
use crate::{
    failure,
    item::{
        Attributes, Unreadable, Unwritable, decode,
        detail::{FeedbackItem, ModeItem, ParticipantItem, RequestItem, ResultItem},
        encode, encode_as,
        session::SessionItem,
        turn::TurnItem,
    },
    key::{self, Item, OfTurn},
};

/// How many items are read at once.
const ITEMS_PAGE: i32 = 100;

/// What an item is called in an export.
const KEY: &str = "Key";

/// What follows from an item's key and its other attributes.
const DERIVED: [&str; 4] = ["PK", "SK", "GSI1PK", "GSI1SK"];

impl Table {
    pub(super) async fn stored_items(
        &self,
        session: &SessionKey,
        after: Option<String>,
    ) -> Result<Page<StoredItem>, Unavailable> {
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
            .map_err(|error| failure::unavailable(WHAT, error))?;
        let next = page.last_evaluated_key.as_ref().and_then(keys_of).map(|(_, sk)| sk);
        let items = page.items.unwrap_or_default().into_iter();
        let items: Result<Vec<Option<StoredItem>>, _> = items.map(written).collect();
        let unwritable = |error: serde_dynamo::Error| Unavailable { what: WHAT, source: error.into() };
        Ok(Page { items: items.map_err(unwritable)?.into_iter().flatten().collect(), next })
    }

    pub(super) async fn write_part(&self, part: &Part) -> Result<(), Unavailable> {
        let item = match part {
            Part::Feedback(said) => encode_as(said, &FeedbackItem::whole(said)),
            Part::Session(session) => encode(&**session),
            Part::Turn(turn) => encode(&**turn),
            Part::Request(asked) => encode(&**asked),
            Part::Result(ended) => encode(&**ended),
            Part::Participant(participant) => encode(participant),
            Part::ModeChange(change) => encode(change),
        };
        let item = item.map_err(|error| Unavailable { what: WHAT, source: error.into() })?;
        let put = self.client.put_item().table_name(&self.name).set_item(Some(item)).send().await;
        put.map(|_| ()).map_err(|error| failure::unavailable(WHAT, error))
    }
}

/// An item as an export holds it; none where an import would make nothing of it.
fn written(item: Attributes) -> Result<Option<StoredItem>, serde_dynamo::Error> {
    let Some((_, sk)) = keys_of(&item).filter(|(_, sk)| kind_of(sk).is_some()) else { return Ok(None) };
    let mut members: StoredItem = serde_dynamo::from_item(item)?;
    DERIVED.iter().for_each(|name| drop(members.remove(*name)));
    members.insert(KEY.to_owned(), Value::String(sk));
    Ok(Some(members))
}

/// A kind of item that exports hold.
#[derive(Clone, Copy)]
enum Kind {
    Session,
    OfTurn(OfTurn),
    Participant,
    Feedback,
    ModeChange,
}

fn kind_of(sk: &str) -> Option<Kind> {
    if let Some((_, of)) = key::parse_of_turn(sk) {
        return Some(Kind::OfTurn(of));
    }
    match sk.split_once('#') {
        None if sk == "SESSION" => Some(Kind::Session),
        Some(("USER", _)) => Some(Kind::Participant),
        Some(("FEEDBACK", _)) => Some(Kind::Feedback),
        Some(("MODE", _)) => Some(Kind::ModeChange),
        _ => None,
    }
}

/// What an item of an export says.
pub(super) fn part_of(session: &SessionKey, mut members: StoredItem) -> Result<Part, InvalidItem> {
    let Some(Value::String(sk)) = members.remove(KEY) else { return Err(InvalidItem::Key) };
    let kind = kind_of(&sk).ok_or(InvalidItem::Key)?;
    if let Some(name) = DERIVED.iter().find(|name| members.contains_key(**name)) {
        return Err(InvalidItem::Unknown((*name).to_owned()));
    }
    let names: Vec<String> = members.keys().cloned().collect();
    let mut item: Attributes =
        serde_dynamo::to_item(members).map_err(|_| InvalidItem::Malformed("no item".to_owned()))?;
    item.extend(DERIVED.map(|name| (name.to_owned(), AttributeValue::S(String::new()))));
    let (part, again) = read(session, &sk, kind, item).map_err(invalid)?.ok_or(InvalidItem::Key)?;
    if again.get("SK").and_then(|found| found.as_s().ok()) != Some(&sk) {
        return Err(InvalidItem::Key);
    }
    let unknown = |name: &&String| !again.contains_key(*name);
    match names.iter().find(unknown) {
        Some(name) => Err(InvalidItem::Unknown(name.clone())),
        None => Ok(part),
    }
}

/// The part, and its item as it is written by now.
fn read(
    session: &SessionKey,
    sk: &str,
    kind: Kind,
    item: Attributes,
) -> Result<Option<(Part, Attributes)>, Unreadable> {
    fn known(
        part: Part,
        again: Result<Attributes, Unwritable>,
    ) -> Result<Option<(Part, Attributes)>, Unreadable> {
        let again = again.map_err(|_| Unreadable::Lacks("a form of its own"))?;
        Ok(Some((part, again)))
    }
    match kind {
        Kind::Session => {
            let found = decode::<SessionItem>(item)?.into_session(session.clone());
            known(Part::Session(Box::new(found.clone())), encode(&found))
        }
        Kind::OfTurn(of) => {
            let Some((turn, _)) = key::parse_of_turn(sk) else { return Ok(None) };
            let turn = session.turn(turn);
            match of {
                OfTurn::Head => {
                    let found = decode::<TurnItem>(item)?.into_turn(turn)?;
                    known(Part::Turn(Box::new(found.clone())), encode(&found))
                }
                OfTurn::Request => {
                    let found = decode::<RequestItem>(item)?.into_request(turn);
                    known(Part::Request(Box::new(found.clone())), encode(&found))
                }
                OfTurn::Result => {
                    let found = decode::<ResultItem>(item)?.into_result(turn);
                    known(Part::Result(Box::new(found.clone())), encode(&found))
                }
            }
        }
        Kind::Participant => {
            let Some(user) = key::parse_user(sk) else { return Ok(None) };
            let found = decode::<ParticipantItem>(item)?.into_participant(session.clone(), user);
            known(Part::Participant(found.clone()), encode(&found))
        }
        Kind::Feedback => {
            let found = decode::<FeedbackItem>(item)?.into_feedback_in(session);
            known(Part::Feedback(found.clone()), encode_as(&found, &FeedbackItem::whole(&found)))
        }
        Kind::ModeChange => {
            let found = decode::<ModeItem>(item)?.into_mode_change(session);
            known(Part::ModeChange(found.clone()), encode(&found))
        }
    }
}

fn invalid(error: Unreadable) -> InvalidItem {
    match error {
        Unreadable::Newer(_) => InvalidItem::Newer,
        Unreadable::Malformed { .. } | Unreadable::Lacks(_) => InvalidItem::Malformed(error.to_string()),
    }
}
