//! Checkpoints of a stream: in order, after a place, of one turn.

use contracts::stream::EventId;
use protocol::{id::TurnKey, place::Place};
use turns::checkpoint::Checkpoint;
use turns::ports::{CHECKPOINTS_PAGE, Store};

use super::{Tenant, at};

pub(super) async fn check(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "checkpoints");
    let turn = tenant.turn("s", "t");
    // Their ids have different lengths as numbers, and are written out of order.
    let ends =
        |n: usize| Place::from(EventId::new(10_u64.pow(u32::try_from(n % 15).unwrap()) + n as u64).unwrap());
    let mut written: Vec<Checkpoint> =
        (0..CHECKPOINTS_PAGE + 4).map(|n| checkpoint(&turn, ends(n))).collect();
    written.push(Checkpoint {
        text: "naïve 🦀".to_owned(),
        index: 7,
        ..checkpoint(&turn, Place::from(EventId::MAX))
    });
    for checkpoint in written.iter().rev() {
        store.put_checkpoint(checkpoint).await.unwrap();
        store.put_checkpoint(checkpoint).await.unwrap();
    }
    // A turn whose id begins like this one's, and one of another session.
    store.put_checkpoint(&checkpoint(&tenant.turn("s", "t0"), ends(3))).await.unwrap();
    store.put_checkpoint(&checkpoint(&tenant.turn("s2", "t"), ends(3))).await.unwrap();
    written.sort_by_key(|checkpoint| checkpoint.ends);

    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let page = store.checkpoints(&turn, after).await.unwrap();
        assert!(page.len() <= CHECKPOINTS_PAGE);
        let Some(last) = page.last() else { break };
        after = Some(last.ends);
        read.extend(page);
    }
    assert_eq!(read, written);
    assert_eq!(store.checkpoints(&turn, Some(written[4].ends)).await.unwrap()[0], written[5]);
    assert_eq!(store.checkpoints(&tenant.turn("s", "none"), None).await.unwrap(), []);
    assert_eq!(store.last_checkpoint(&turn).await.unwrap(), written.last().map(|last| last.ends));
    assert_eq!(store.last_checkpoint(&tenant.turn("s", "none")).await.unwrap(), None);
    for until in &written {
        let same = |one: &&Checkpoint| one.ends.segment == until.ends.segment && one.ends <= until.ends;
        let expected: Vec<_> = written.iter().filter(same).cloned().collect();
        assert_eq!(store.segment(&turn, until.ends).await.unwrap(), expected);
    }
}

fn checkpoint(turn: &TurnKey, ends: Place) -> Checkpoint {
    Checkpoint { key: turn.clone(), ends, index: 0, text: "x".to_owned(), reset: None, expires: at(3_600) }
}
