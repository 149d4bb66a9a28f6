//! Figures, by hand: what lists and reads take when there is much.
//!
//! `cargo test --locked --test behaviour -- --ignored --nocapture scale::` prints what docs/figures.md holds. They are
//! this machine's times, of a debug build: the ratios and the units say more.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use contracts::{Timestamp, id::OrgId, paths};
use futures::{StreamExt, stream};
use protocol::{
    Caller,
    id::AttemptId,
    session::Session,
    timing::Timing,
    transition::begin,
    turn::{Reason, Settlement, State, Verdict},
};
use storage::Table;
use testkit::build;
use turns::ports::Store;

use crate::{
    support::{Client, System},
    units::Meter,
};

/// How many requests make a figure.
const REQUESTS: usize = 300;

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
    let ended = Settlement { verdict: Verdict::Ended(Reason::Cancelled), at: now };
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
async fn fill(system: &System, org: &str, sessions: usize) {
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

async fn fill_session(table: &Table, org: &str, session: &str, turns: usize) {
    let mut before = None;
    for number in 0..turns {
        before = Some(put_turn(table, org, session, &format!("t{number}"), before.as_ref()).await);
    }
}

/// Median and 99th percentile of a request.
async fn timed(client: &Client, path: &str) -> (Duration, Duration) {
    let mut took = Vec::with_capacity(REQUESTS);
    client.get(path).await.result();
    for _ in 0..REQUESTS {
        let began = Instant::now();
        client.get(path).await.result();
        took.push(began.elapsed());
    }
    took.sort_unstable();
    (took[REQUESTS / 2], took[REQUESTS * 99 / 100])
}

fn millis((median, last): (Duration, Duration)) -> String {
    format!("p50 {:.1} ms, p99 {:.1} ms", median.as_secs_f64() * 1e3, last.as_secs_f64() * 1e3)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, which takes minutes"]
async fn lists_and_reads_with_much_and_with_little() {
    let system = System::start().await;
    let table = Table::new(system.cloud.dynamodb().clone(), system.cloud.table().to_owned());
    let list = format!("{}?pageSize=50", paths::SESSIONS);
    let mut medians = Vec::new();
    for sessions in [10, 1_000, 100_000] {
        let org = format!("org{sessions}");
        let began = Instant::now();
        fill(&system, &org, sessions).await;
        let written = began.elapsed();
        let client = system.client(&org, "ada");
        let all = timed(&client, &format!("{}?pageSize=10", paths::SESSIONS)).await;
        println!(
            "{sessions:6} sessions (written in {:.0} s): a page of 10 {}; a page of 50 {}; of one user's {}",
            written.as_secs_f64(),
            millis(all),
            millis(timed(&client, &list).await),
            millis(timed(&client, &format!("{}?pageSize=10&userId=ada", paths::SESSIONS)).await),
        );
        medians.push(all.0);
    }
    let ratio = |one: Duration, other: Duration| other.as_secs_f64() / one.as_secs_f64();
    println!(
        "a page of 10, p50 at 1,000 and 100,000 sessions to that at 10: × {:.2}, × {:.2}",
        ratio(medians[0], medians[1]),
        ratio(medians[0], medians[2]),
    );
    for turns in [10, 2_000] {
        let session = format!("long{turns}");
        fill_session(&table, "acme", &session, turns).await;
        let path = paths::SESSION.of(&session.parse().unwrap());
        let client = system.client("acme", "ada");
        println!(
            "{turns:6} turns: the session with 10 of them {}; with 100 {}; its last 10 in a list {}",
            millis(timed(&client, &format!("{path}?pageSize=10")).await),
            millis(timed(&client, &path).await),
            millis(timed(&client, &format!("{path}/turns?order=desc&pageSize=10")).await),
        );
    }
}

#[tokio::test]
#[ignore = "a measurement, with a test of its own for what must hold"]
async fn units_of_lists_and_reads() {
    let (meter, system) = Meter::system().await;
    let table = Table::new(system.cloud.dynamodb().clone(), system.cloud.table().to_owned());
    for sessions in [10, 1_000] {
        fill(&system, &format!("org{sessions}"), sessions).await;
    }
    for turns in [10, 2_000] {
        fill_session(&table, "acme", &format!("long{turns}"), turns).await;
    }
    let read = async |name: &str, org: &str, path: String| {
        meter.take();
        system.client(org, "ada").get(&path).await.result();
        println!("{name}: {} read units", meter.take().1);
    };
    for org in ["org10", "org1000"] {
        read(&format!("{org}, a page of 10"), org, format!("{}?pageSize=10", paths::SESSIONS)).await;
        read(
            &format!("{org}, a page of 10 of one user"),
            org,
            format!("{}?pageSize=10&userId=ada", paths::SESSIONS),
        )
        .await;
        let narrowed = format!("{}?pageSize=10&status=completed", paths::SESSIONS);
        read(&format!("{org}, a page of 10 of what there is not"), org, narrowed).await;
    }
    for session in ["long10", "long2000"] {
        let path = paths::SESSION.of(&session.parse().unwrap());
        read(&format!("{session}, with 10 turns"), "acme", format!("{path}?pageSize=10")).await;
        read(&format!("{session}, with 100 turns"), "acme", path.clone()).await;
        read(
            &format!("{session}, a list of 10 turns"),
            "acme",
            format!("{path}/turns?pageSize=10&order=desc"),
        )
        .await;
        read(&format!("{session}, a turn"), "acme", format!("{path}/turns/t3")).await;
        read(&format!("{session}, the last turn"), "acme", format!("{path}/turns/last")).await;
        read(&format!("{session}, the last failed"), "acme", format!("{path}/turns/last?status=failed"))
            .await;
    }
}
