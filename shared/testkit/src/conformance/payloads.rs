//! Objects are written once and read unchanged.

use std::collections::BTreeSet;

use bytes::Bytes;
use contracts::{FileAddress, Fingerprint};
use protocol::{
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload, StoredRequest},
};
use turns::ports::{ArchivedObject, Payloads};

use crate::build;

/// Checks that a bucket implements [`Payloads`]. `run` makes the objects unique.
pub async fn payloads(bucket: &impl Payloads, run: &str) {
    let (one, other) = (build::turn_key(run, "one"), build::turn_key(run, "other"));
    let address = FileAddress::hash_bytes(b"file");
    let attempt = |name: &str| AttemptId::new(name.to_owned());
    let kinds = [
        Kind::Instruction(StoredRequest {
            fingerprint: Fingerprint::hash_bytes(b"one"),
            submission_id: None,
        }),
        Kind::Instruction(StoredRequest {
            fingerprint: Fingerprint::hash_bytes(b"one"),
            submission_id: Some(attempt("a")),
        }),
        Kind::Instruction(StoredRequest {
            fingerprint: Fingerprint::hash_bytes(b"other"),
            submission_id: None,
        }),
        Kind::Outcome(attempt("a")),
        Kind::Outcome(attempt("b")),
        Kind::Answer(attempt("a")),
        Kind::File { address, name: "a b/ü.md".to_owned() },
        Kind::File { address, name: "a.md".to_owned() },
    ];
    let all = || {
        [&one, &other]
            .into_iter()
            .flat_map(|turn| kinds.iter().map(|kind| Payload { turn: turn.clone(), kind: kind.clone() }))
    };
    for payload in all() {
        assert_eq!(bucket.get(&payload).await.unwrap(), None, "{payload:?} is not there yet");
        assert_eq!(bucket.link(&payload).await.unwrap(), None, "{payload:?} is not there yet");
    }
    for (number, payload) in all().enumerate() {
        bucket.put(&payload, Bytes::from(format!("body {number}"))).await.unwrap();
    }
    for (number, payload) in all().enumerate() {
        bucket.put(&payload, Bytes::from_static(b"a second body")).await.expect("twice is success");
        let stored = bucket.get(&payload).await.unwrap();
        assert_eq!(stored, Some(Bytes::from(format!("body {number}"))), "{payload:?} keeps the first");
        assert!(bucket.link(&payload).await.unwrap().is_some(), "{payload:?} is there");
    }
    listed(bucket, &one, all().take(kinds.len()).collect()).await;
    removed(bucket, all().take(2)).await;
    sizes(bucket, run).await;
}

/// Checks that a turn's objects are listed, each at a place that names it, and are read up to a limit.
async fn listed(bucket: &impl Payloads, turn: &TurnKey, stored: BTreeSet<Payload>) {
    let page = bucket.objects(turn, None).await.unwrap();
    assert_eq!(page.next, None);
    let listed: BTreeSet<Payload> = page.items.iter().map(|object| object.payload.clone()).collect();
    assert_eq!(listed, stored, "the objects of this turn, and of no other");
    assert!(page.items.is_sorted_by(|one, next| one.place < next.place), "in the order of their places");
    for ArchivedObject { payload, place, size } in &page.items {
        assert_eq!(bucket.at(turn, place).as_ref(), Some(payload), "{place}");
        let whole = bucket.read(payload, *size).await.unwrap().unwrap();
        assert_eq!((whole.size, whole.bytes), (*size, bucket.get(payload).await.unwrap()), "{place}");
        let above = bucket.read(payload, size - 1).await.unwrap().unwrap();
        assert_eq!((above.size, above.bytes), (*size, None), "{place} is above the limit");
    }
    let [first, rest @ ..] = page.items.as_slice() else { panic!("objects are stored") };
    let later = bucket.objects(turn, Some(first.place.clone())).await.unwrap();
    assert_eq!(later.items, rest, "the objects after a place");
}

async fn removed(bucket: &impl Payloads, mut pair: impl Iterator<Item = Payload>) {
    let (removed, stored) = (pair.next().unwrap(), pair.next().unwrap());
    for times in 1..=2 {
        bucket.remove(&removed).await.unwrap();
        assert_eq!(bucket.get(&removed).await.unwrap(), None, "removed {times} times");
    }
    assert!(bucket.get(&stored).await.unwrap().is_some(), "another submission's is another object");
}

async fn sizes(bucket: &impl Payloads, run: &str) {
    for size in [0, 1, 3 * 1024 * 1024] {
        let kind = Kind::Answer(AttemptId::new(format!("size-{size}")));
        let payload = Payload { turn: build::turn_key(run, "sizes"), kind };
        let body = Bytes::from(vec![b'x'; size]);
        bucket.put(&payload, body.clone()).await.unwrap();
        assert_eq!(bucket.get(&payload).await.unwrap(), Some(body), "{size} bytes");
        assert!(bucket.link(&payload).await.unwrap().is_some_and(|link| !link.url.is_empty()));
    }
}
