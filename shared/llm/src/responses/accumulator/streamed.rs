//! The items of a reply as the stream brings them, and their merge with the final ones.
//!
//! Some servers leave out the final output, an item of it, or its content. So each item is put together from all that is
//! known of it.

use agent::model::Error;

use serde::de::IgnoredAny;

use super::MAX_ITEMS;
use crate::accumulator::MAX_TEXT;
use crate::json::whole_characters;
use crate::responses::event::Delta;
use crate::responses::item::{Item, Message};
use crate::tool_calls::{ReceivedCall, drop_repeats, push_arguments};

/// The items so far, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct StreamedItems {
    items: Vec<StreamedItem>,
    /// True after an item was announced with its id. Ids that weren't announced then say nothing: some gateways encrypt
    /// the id of an item anew in each event.
    announces_ids: bool,
    /// The bytes of all calls.
    bytes: usize,
}

#[derive(Debug)]
struct StreamedItem {
    id: Option<String>,
    index: Option<u32>,
    item: Item,
    /// The index of the newest part of a message.
    part: Option<u32>,
    /// True if the next text starts a part.
    starts_part: bool,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Call,
    Other,
}

impl StreamedItems {
    /// Adds an item that begins.
    pub(super) fn begin(&mut self, index: Option<u32>, item: Item) -> Result<(), Error> {
        self.announces_ids |= item.id().is_some();
        let item = match item {
            Item::FunctionCall(call) if call.arguments.trim() == "{}" => {
                Item::FunctionCall(ReceivedCall { arguments: String::new(), ..call })
            }
            item => item,
        };
        let id = item.id().map(str::to_owned);
        let known = id.as_ref().and_then(|id| self.items.iter().position(|it| it.id.as_ref() == Some(id)));
        if known.is_none() {
            self.add(id, index, item)?;
        }
        Ok(())
    }

    /// Records that a part of a message begins.
    pub(super) fn begin_part(&mut self, delta: &Delta) {
        if let Some(item) = self.find(delta, Kind::Message).and_then(|at| self.items.get_mut(at))
            && item.part.is_some_and(|part| Some(part) != delta.content_index)
        {
            item.starts_part = true;
        }
    }

    /// Adds a piece of text. Returns its place: the item, and the part of its text.
    pub(super) fn add_text(&mut self, delta: &Delta) -> Result<(u32, u32), Error> {
        let at = match self.find(delta, Kind::Message) {
            Some(at) => at,
            None => {
                let message = Item::Message(Message::default());
                self.add(delta.item_id.clone(), delta.output_index, message)?
            }
        };
        // Within an item, only the index of a server without ids starts a part: others count it up with each delta.
        let counts_parts = !self.is_known(delta.item_id.as_deref());
        let found = self.items.get_mut(at).ok_or(Error::Malformed)?;
        let Item::Message(message) = &mut found.item else { return Err(Error::Malformed) };
        let is_next =
            counts_parts && delta.content_index.is_some_and(|part| found.part.is_some_and(|it| it != part));
        if std::mem::take(&mut found.starts_part) || is_next || message.texts.is_empty() {
            message.texts.push(String::new());
        }
        found.part = delta.content_index.or(found.part).or(Some(0));
        if let Some(text) = message.texts.last_mut() {
            text.push_str(&delta.delta);
        }
        let place = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Ok((place(at), place(message.texts.len())))
    }

    /// Returns what the deltas lack of a whole text: of the part, or of the message. `None` if they differ.
    pub(super) fn missing_text<'a>(&self, delta: &Delta, whole: &'a str) -> Option<&'a str> {
        let found = self.find(delta, Kind::Message).and_then(|at| self.items.get(at));
        let Some(StreamedItem { item: Item::Message(message), starts_part: false, .. }) = found else {
            return Some(whole);
        };
        let part = message.texts.last().map(String::as_str).unwrap_or_default();
        let rest = |text: &str| whole.strip_prefix(&*whole_characters(text));
        rest(part).or_else(|| rest(&message.texts.concat()))
    }

    /// Adds a piece of the arguments of a call.
    pub(super) fn add_arguments(&mut self, delta: &Delta) -> Result<(), Error> {
        let call = self.call(delta)?;
        push_arguments(&mut call.arguments, &delta.delta);
        Ok(())
    }

    /// Sets the whole arguments of a call.
    pub(super) fn set_arguments(&mut self, delta: &Delta) -> Result<(), Error> {
        let call = self.call(delta)?;
        if !is_less(&delta.arguments, &call.arguments) {
            call.arguments.clone_from(&delta.arguments);
        }
        if call.name.is_empty() {
            call.name.clone_from(&delta.name);
        }
        Ok(())
    }

    /// Adds an item that is complete.
    pub(super) fn end(&mut self, index: Option<u32>, item: Item) -> Result<(), Error> {
        let id = item.id().map(str::to_owned);
        let delta = Delta { item_id: id.clone(), output_index: index, ..Delta::default() };
        let kind = Kind::of(&item);
        // An item without an id or an index is the next one: many servers announce none.
        let is_named = self.is_known(id.as_deref()) || index.is_some();
        let known = self.find(&delta, kind).filter(|_| is_named || kind == Kind::Message);
        let known = known.filter(|at| self.items.get(*at).is_some_and(|it| is_mergeable(&it.item, &item)));
        match known.and_then(|at| self.items.get_mut(at)) {
            Some(known) => {
                known.id = known.id.take().or(id);
                known.item = merged(completed(std::mem::take(&mut known.item)), item);
            }
            None => _ = self.add(id, index, item)?,
        }
        Ok(())
    }

    /// Takes the items: those of the final output, and what it lacks. Its messages win unless they have less text.
    pub(super) fn take_merged(&mut self, output: Vec<Item>) -> Vec<Item> {
        let mut streamed = std::mem::take(&mut self.items);
        for known in &mut streamed {
            known.item = completed(std::mem::take(&mut known.item));
        }
        let streamed_text: String = streamed.iter().map(|it| text(&it.item)).collect();
        let has_less = is_less(&output.iter().map(text).collect::<String>(), &streamed_text);
        streamed.retain(|it| it.item != Item::Other && (has_less || Kind::of(&it.item) != Kind::Message));
        let is_complete = |kind| {
            let listed = output.iter().filter(|item| Kind::of(item) == kind).count();
            listed == streamed.iter().filter(|it| Kind::of(&it.item) == kind).count()
        };
        let in_order: Vec<Kind> =
            [Kind::Message, Kind::Other].into_iter().filter(|kind| is_complete(*kind)).collect();
        let mut items: Vec<(Item, bool)> = output.into_iter().map(|item| (item, false)).collect();
        let mut at = 0;
        for StreamedItem { item, id, .. } in streamed {
            let id = id.as_deref().or(item.id());
            match counterpart(&items, &item, id, in_order.contains(&Kind::of(&item))) {
                Some(found) => {
                    if let Some((last, is_merged)) = items.get_mut(found) {
                        (*last, *is_merged) = (merged(item, std::mem::take(last)), true);
                    }
                    at = found + 1;
                }
                None => {
                    items.insert(at, (item, true));
                    at += 1;
                }
            }
        }
        let mut items: Vec<Item> = items.into_iter().map(|(item, _)| item).collect();
        drop_repeats(&mut items, |item| match item {
            Item::FunctionCall(call) => Some(call),
            _ => None,
        });
        items
    }

    /// Finds the item of a piece: by its id, or by its index if it has no id that says anything, or else the newest.
    fn find(&self, delta: &Delta, kind: Kind) -> Option<usize> {
        let newest = |is_it: &dyn Fn(&StreamedItem) -> bool| {
            self.items.iter().rposition(|it| Kind::of(&it.item) == kind && is_it(it))
        };
        match (delta.item_id.as_deref(), delta.output_index) {
            (Some(id), _) if self.is_known(Some(id)) => newest(&|it| it.id.as_deref() == Some(id)),
            (_, Some(index)) => newest(&|it| it.index == Some(index)),
            (_, None) => newest(&|_| true),
        }
    }

    /// True if this id tells items apart.
    fn is_known(&self, id: Option<&str>) -> bool {
        id.is_some_and(|id| !self.announces_ids || self.items.iter().any(|it| it.id.as_deref() == Some(id)))
    }

    fn call(&mut self, delta: &Delta) -> Result<&mut ReceivedCall, Error> {
        self.bytes = self.bytes.saturating_add(delta.delta.len() + delta.arguments.len());
        if self.bytes > 2 * MAX_TEXT {
            return Err(Error::Malformed);
        }
        let at = match self.find(delta, Kind::Call) {
            Some(at) => at,
            None => {
                let call =
                    Item::FunctionCall(ReceivedCall { id: delta.item_id.clone(), ..ReceivedCall::default() });
                self.add(delta.item_id.clone(), delta.output_index, call)?
            }
        };
        match self.items.get_mut(at).map(|it| &mut it.item) {
            Some(Item::FunctionCall(call)) => Ok(call),
            _ => Err(Error::Malformed),
        }
    }

    fn add(&mut self, id: Option<String>, index: Option<u32>, item: Item) -> Result<usize, Error> {
        if self.items.len() == MAX_ITEMS {
            return Err(Error::Malformed);
        }
        let part = None;
        self.items.push(StreamedItem { id, index, item, part, starts_part: false });
        Ok(self.items.len() - 1)
    }
}

impl Kind {
    fn of(item: &Item) -> Self {
        match item {
            Item::Message(_) => Self::Message,
            Item::FunctionCall(_) => Self::Call,
            Item::Reasoning(_) | Item::Hosted(_) | Item::Other => Self::Other,
        }
    }
}

/// Finds the final form of a streamed item among those that have none yet: the same id, else the same content. Items of a
/// kind that are as many as in the stream are in its order.
fn counterpart(output: &[(Item, bool)], item: &Item, id: Option<&str>, in_order: bool) -> Option<usize> {
    let free = |is_it: &dyn Fn(&Item) -> bool| {
        output
            .iter()
            .position(|(last, is_merged)| !is_merged && Kind::of(last) == Kind::of(item) && is_it(last))
    };
    let same_id = || free(&|last| id.is_some() && last.id() == id);
    match item {
        Item::Message(_) => {
            let streamed = text(item);
            let starts = |last: &Item| !text(last).is_empty() && streamed.starts_with(&text(last));
            same_id().or_else(|| free(&|last| starts(last) || in_order))
        }
        Item::FunctionCall(call) => {
            let of = |is_it: &dyn Fn(&ReceivedCall) -> bool| {
                free(&|last| matches!(last, Item::FunctionCall(last) if is_it(last)))
            };
            of(&|last| call.call_id.is_some() && last.call_id == call.call_id)
                .or_else(same_id)
                .or_else(|| of(&|last| last.name == call.name && last.arguments == call.arguments))
                .or_else(|| {
                    of(&|last| call.call_id.is_none() && (call.name.is_empty() || last.name == call.name))
                })
        }
        Item::Reasoning(_) | Item::Hosted(_) => {
            let is_alike = |last: &Item| std::mem::discriminant(last) == std::mem::discriminant(item);
            same_id().or_else(|| free(&|last| in_order && is_alike(last)))
        }
        Item::Other => None,
    }
}

/// Joins the halves of characters in a message, and gives a call without arguments an empty object. The halves in calls
/// are joined on all wires alike.
fn completed(item: Item) -> Item {
    match item {
        Item::FunctionCall(call) if call.arguments.trim().is_empty() => {
            Item::FunctionCall(ReceivedCall { arguments: "{}".to_owned(), ..call })
        }
        Item::Message(message) => {
            let texts = message.texts.iter().map(|text| whole_characters(text).into_owned()).collect();
            Item::Message(Message { texts, ..message })
        }
        item => item,
    }
}

fn text(item: &Item) -> String {
    match item {
        Item::Message(message) => message.texts.concat(),
        _ => String::new(),
    }
}

/// True if one item may be the end of the other.
fn is_mergeable(streamed: &Item, last: &Item) -> bool {
    match (streamed, last) {
        (Item::Message(_), Item::Message(_)) => true,
        (Item::FunctionCall(streamed), Item::FunctionCall(last)) => {
            streamed.call_id.is_none() || last.call_id.is_none() || streamed.call_id == last.call_id
        }
        (Item::Other, _) | (Item::Reasoning(_), Item::Reasoning(_)) | (Item::Hosted(_), Item::Hosted(_)) => {
            true
        }
        _ => false,
    }
}

/// Merges an item with its later form, which wins unless it has less.
fn merged(streamed: Item, last: Item) -> Item {
    match (streamed, last) {
        (Item::Message(streamed), Item::Message(last)) => {
            let keeps = is_less(&last.texts.concat(), &streamed.texts.concat());
            let texts = if keeps { streamed.texts } else { last.texts };
            Item::Message(Message { texts, phase: last.phase.or(streamed.phase), ..last })
        }
        (Item::FunctionCall(streamed), Item::FunctionCall(last)) => {
            let is_valid = || serde_json::from_str::<IgnoredAny>(&streamed.arguments).is_ok();
            let keeps = is_less(&last.arguments, &streamed.arguments) && is_valid();
            Item::FunctionCall(ReceivedCall {
                call_id: last.call_id.or(streamed.call_id),
                id: last.id.or(streamed.id),
                name: if last.name.is_empty() { streamed.name } else { last.name },
                arguments: if keeps { streamed.arguments } else { last.arguments },
            })
        }
        (streamed, Item::Other) => streamed,
        (_, last) => last,
    }
}

/// True if a text has fewer characters than another, white space apart.
fn is_less(text: &str, other: &str) -> bool {
    let size = |text: &str| text.chars().filter(|character| !character.is_whitespace()).count();
    size(text) < size(other)
}
