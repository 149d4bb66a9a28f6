//! Orgs with many sessions and sessions with many turns, written past the API.

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use contracts::{Timestamp, id::OrgId};
use futures::{StreamExt, stream};
use protocol::{
    Caller,
    id::AttemptId,
    session::Session,
    timing::Timing,
    transition::begin,
    turn::{EndReason, Settlement, State, Verdict},
};
use storage::Table;
use testkit::build;
use turns::ports::Store;

use crate::support::System;

/// A turn of a session, ended, as the table has it.
async fn put_turn(table: &Table, org: &str, session: &str, turn: &str, before: Option<&Session>) -> Session {
    let caller = Caller { org: OrgId::new(org).unwrap(), ..build::caller("ada") };
    let asked = build::submission(&caller, &build::request(session, turn, "A question of some length."));
    let now = Timestamp::from_millis(1_767_225_600_000 + i64::from(rand(turn, session)));
    let attempt = AttemptId::new(turn.to_owned());
    let mut commit = begin::begin(
        before,
        None,
        &asked,
        &build::setup(),
        attempt,
        before.is_none(),
        now,
        &Timing::default(),
    );
    // The details of ended turns are not written, so a reader of a cancelled one would look for its calls with effects.
    let ended = Settlement { verdict: Verdict::Ended(EndReason::Superseded), at: now };
    for change in &mut commit.turns {
        (change.after.state, change.after.due) = (State::Finalized(ended.clone()), None);
    }
    commit.session.after.open_turn = None;
    table.commit(&commit).await.unwrap();
    commit.session.after
}

/// An instant within a year that is the same each time.
fn rand(turn: &str, session: &str) -> u32 {
    let seed = turn.bytes().chain(session.bytes());
    seed.fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) >> 1
}

/// So many sessions of a turn each: the first as a start writes it, the others as copies of what lists are made of.
pub async fn fill(system: &System, org: &str, sessions: usize) {
    let (client, name) = (system.cloud.dynamodb(), system.cloud.table());
    put_turn(&Table::new(client.clone(), name.to_owned()), org, "s0", "t", None).await;
    let first = AttributeValue::S(format!("O#{org}#S#s0"));
    let query = client.query().table_name(name).key_condition_expression("PK = :first");
    let items = query.expression_attribute_values(":first", first).send().await.unwrap().items.unwrap();
    let listed: Vec<_> = items.into_iter().filter(|item| item.contains_key("GSI1PK")).collect();
    let copies = (1..sessions).flat_map(|number| {
        listed.iter().map(move |item| {
            let mut copy = item.clone();
            let at = Timestamp::from_millis(1_767_225_600_000 + i64::try_from(number).unwrap());
            copy.insert("PK".to_owned(), AttributeValue::S(format!("O#{org}#S#s{number}")));
            copy.insert("GSI1SK".to_owned(), AttributeValue::S(format!("{at}#s{number}")));
            let put = PutRequest::builder().set_item(Some(copy)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        })
    });
    let batches = stream::iter(copies).chunks(24).map(|batch| async move {
        let written = client.batch_write_item().request_items(name, batch).send().await.unwrap();
        assert!(written.unprocessed_items.unwrap_or_default().is_empty());
    });
    batches.buffer_unordered(8).collect::<Vec<()>>().await;
}

pub async fn fill_session(table: &Table, org: &str, session: &str, turns: usize) {
    let mut before = None;
    for number in 0..turns {
        before = Some(put_turn(table, org, session, &format!("t{number}"), before.as_ref()).await);
    }
}
