//! An import's items are written only under its reservation (rule 13).

use contracts::Fingerprint;
use protocol::{
    detail::Participant,
    ratings::Ratings,
    session::Session,
    transition::{
        import::{self, Action, Document, Reservation},
        settle,
    },
    turn::{EndReason, Turn},
};
use turns::ports::{ARCHIVE_BATCH_SIZE, ArchiveItem, Store, WriteError};

use super::{Tenant, at};
use crate::build;

/// More than one transaction.
const USERS: usize = 2 * ARCHIVE_BATCH_SIZE + 1;

pub(super) async fn check(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "archive");
    let key = tenant.turn("s", "t");
    let begun = tenant.start(None, "ann", &key, at(0));
    let head = settle::end(&begun.turns[0].after, EndReason::Cancelled, at(1), &tenant.timing).unwrap().after;
    let session = Session {
        open_turn: Some(key.turn.clone()),
        ratings: Ratings { count: 2, sum: 7 },
        ..begun.session.after.clone()
    };
    let document = Document { session: &session, fingerprint: Fingerprint::hash_bytes(b"document") };
    let participant = |number: usize| Participant {
        session: key.session.clone(),
        user: build::user(&format!("user{number}")).id,
        name: None,
        last_activity: at(0),
    };
    let mut items: Vec<ArchiveItem> =
        (0..USERS).map(|number| ArchiveItem::Participant(participant(number))).collect();
    items.push(ArchiveItem::Request(Box::new(begun.request.clone().unwrap())));
    items.push(ArchiveItem::Turn(Box::new(head.clone())));

    let none = Reservation { key: key.session.clone(), rev: 1 };
    assert!(is_refused(store.put_archive_items(&none, &items).await), "nothing is reserved");
    assert_eq!(tenant.head(&key).await, None);

    let by = build::user("op").id;
    let Action::Reserve(commit) = import::action(None, None, document, false, &by, at(2)) else {
        panic!("the key is free");
    };
    store.commit(&commit).await.unwrap();
    let reservation = Reservation::of(&commit.session.after);
    let other = Reservation { rev: reservation.rev + 1, ..reservation.clone() };
    assert!(is_refused(store.put_archive_items(&other, &items).await), "it is another reservation");
    assert_eq!(tenant.head(&key).await, None);
    for _ in 0..2 {
        store.put_archive_items(&reservation, &items).await.unwrap();
    }
    assert_eq!(tenant.head(&key).await.as_ref(), Some(&head));
    assert_eq!(store.participants(&key.session, USERS + 1).await.unwrap().len(), USERS);

    store.commit(&import::publish(&reservation, document, at(3))).await.unwrap();
    let published = store.session(&key.session).await.unwrap().unwrap();
    assert_eq!(published.ratings, session.ratings);
    let late = Turn { due: Some(at(99)), ..head.clone() };
    let late = [ArchiveItem::Turn(Box::new(late)), ArchiveItem::Participant(participant(USERS))];
    assert!(is_refused(store.put_archive_items(&reservation, &late).await), "it is published");
    assert_eq!(tenant.head(&key).await, Some(head));
    assert_eq!(store.participants(&key.session, USERS + 1).await.unwrap().len(), USERS);
    let purge = store.purge(&key.session).await.unwrap();
    assert_eq!(purge.and_then(|purge| purge.import), Some(document.fingerprint));
}

fn is_refused(result: Result<(), WriteError>) -> bool {
    matches!(result, Err(WriteError::ConditionFailed))
}
