//! Checkpoints: ordered, after a position, of one turn.

use contracts::stream::EventId;
use protocol::{
    id::TurnKey,
    spent::{MeteredUsage, Spent},
    stream_position::StreamPosition,
};
use turns::checkpoint::Checkpoint;
use turns::ports::{CHECKPOINT_PAGE_SIZE, Store};

use super::{Tenant, at};

pub(super) async fn check(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "checkpoints");
    let turn = tenant.turn("s", "t");
    // With ids of different lengths, written out of order.
    let end = |n: usize| {
        StreamPosition::from(EventId::new(10_u64.pow(u32::try_from(n % 15).unwrap()) + n as u64).unwrap())
    };
    let mut written: Vec<Checkpoint> =
        (0..CHECKPOINT_PAGE_SIZE + 4).map(|n| checkpoint(&turn, end(n))).collect();
    written.push(Checkpoint {
        text: "naïve 🦀".to_owned(),
        index: 7,
        ..checkpoint(&turn, StreamPosition::from(EventId::MAX))
    });
    for checkpoint in written.iter().rev() {
        store.put_checkpoint(checkpoint).await.unwrap();
        store.put_checkpoint(checkpoint).await.unwrap();
    }
    // A turn whose id has this one as a prefix, and a turn of another session.
    store.put_checkpoint(&checkpoint(&tenant.turn("s", "t0"), end(3))).await.unwrap();
    store.put_checkpoint(&checkpoint(&tenant.turn("s2", "t"), end(3))).await.unwrap();
    written.sort_by_key(|checkpoint| checkpoint.end);

    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let page = store.checkpoints(&turn, after).await.unwrap();
        assert!(page.len() <= CHECKPOINT_PAGE_SIZE);
        let Some(last) = page.last() else { break };
        after = Some(last.end);
        read.extend(page);
    }
    assert_eq!(read, written);
    assert_eq!(store.checkpoints(&turn, Some(written[4].end)).await.unwrap()[0], written[5]);
    assert_eq!(store.checkpoints(&tenant.turn("s", "none"), None).await.unwrap(), []);
    assert_eq!(store.last_checkpoint(&turn).await.unwrap(), written.last().cloned().map(Into::into));
    assert_eq!(store.last_checkpoint(&tenant.turn("s", "none")).await.unwrap(), None);
    for until in &written {
        let same = |one: &&Checkpoint| one.end.segment == until.end.segment && one.end <= until.end;
        let expected: Vec<_> = written.iter().filter(same).cloned().collect();
        assert_eq!(store.segment(&turn, until.end).await.unwrap(), expected);
    }
}

fn spent() -> Spent {
    let usage = MeteredUsage::estimated(7, 3).usage;
    Spent { usage, estimated_tokens: 3, model_calls: 1, model: Some("m".to_owned()), ..Spent::default() }
}

fn checkpoint(turn: &TurnKey, end: StreamPosition) -> Checkpoint {
    Checkpoint {
        key: turn.clone(),
        end,
        index: 0,
        text: "x".to_owned(),
        reset: None,
        spent: Some(spent()),
        expires: at(3_600),
    }
}
