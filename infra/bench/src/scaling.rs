//! Scaling benchmarks: lists and reads over much data compared with little, and late turns of a long session.

use std::collections::HashMap;
use std::path::Path;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use contracts::{Timestamp, id::SessionId, paths};
use futures::{StreamExt, TryStreamExt, stream};
use local::call_proxy::Service;

use crate::client::Client;
use crate::failure::Failure;
use crate::long_sessions;
use crate::metric::{Metric, millis, percentile};
use crate::shape::Shape;
use crate::system::System;

/// Sessions per org.
const ORG_SIZES: [usize; 3] = [10, 1_000, 100_000];
/// Turns per session.
const SESSION_SIZES: [usize; 3] = [10, 50, 2_000];
/// Requests per metric.
const REQUESTS_PER_METRIC: usize = 300;
/// Items per batch write, and concurrent batch writes.
const BATCH_ITEMS: usize = 24;
const CONCURRENT_BATCHES: usize = 8;

/// A read whose latency is measured, with the size of the data.
struct ReadCase {
    group: &'static str,
    size: usize,
    client: Client,
    path: String,
}

impl ReadCase {
    fn name(&self, metric: &str) -> String {
        format!("{:>7}: {metric}", self.size)
    }
}

pub(crate) async fn measure(
    program: &Path,
    number: usize,
    report: &impl Fn(&str),
) -> Result<Vec<Metric>, Failure> {
    let system = System::start(program, number).await?;
    let (reads, longest) = populate(&system, report).await?;
    report("late turns compared with early ones");
    let mut metrics = long_sessions::compare(&system, &longest).await?;
    report("latency of reads");
    metrics.extend(measure_latency(&reads).await?);
    system.shutdown().await;
    let (system, proxy) = System::start_recorded(program, number).await?;
    let (reads, _) = populate(&system, report).await?;
    report("read units");
    for read in &reads {
        proxy.take();
        read.client.get(&read.path).await?;
        let units =
            proxy.take().iter().filter(|call| call.service == Service::Table).map(|call| call.units).sum();
        metrics.push(Metric::new(read.group, &read.name("read units"), "", units));
    }
    system.shutdown().await;
    Ok(metrics)
}

/// Creates orgs and sessions of every size. Returns the reads to measure, and the id of the longest session.
async fn populate(system: &System, report: &impl Fn(&str)) -> Result<(Vec<ReadCase>, String), Failure> {
    let (mut reads, mut longest) = (Vec::new(), String::new());
    for sessions in ORG_SIZES {
        report(&format!("an org of {sessions} sessions"));
        let client = system.client_of(&format!("org{sessions}"))?;
        create_sessions(&client, sessions).await?;
        let mut read = |group, query: &str| {
            let path = format!("{}?pageSize={query}", paths::SESSIONS);
            reads.push(ReadCase { group, size: sessions, client: client.clone(), path });
        };
        read("list of 10 org sessions, by org size", "10");
        read("list of 50 org sessions, by org size", "50");
        read("list of 10 user sessions, by org size", "10&userId=ada");
    }
    for turns in SESSION_SIZES {
        report(&format!("a session of {turns} turns"));
        let session = create_session(system, turns).await?;
        let path = paths::SESSION.fill(&session.parse::<SessionId>()?);
        let mut read = |group, rest: &str| {
            reads.push(ReadCase {
                group,
                size: turns,
                client: system.client.clone(),
                path: format!("{path}{rest}"),
            });
        };
        read("session with its first 10 turns, by session size", "?pageSize=10");
        read("list of the last 10 turns, by session size", "/turns?order=desc&pageSize=10");
        read("last turn of a session, by session size", "/turns/last");
        longest = session;
    }
    Ok((reads, longest))
}

/// Creates a session with this many turns.
async fn create_session(system: &System, turns: usize) -> Result<String, Failure> {
    let session = system.client.session(Shape::Buffered).await?;
    for number in 1..turns {
        system.client.next_turn(&session).await?;
        if number % 1_000 == 0 {
            system.clear_model_requests();
        }
    }
    Ok(session)
}

/// Measures all reads alternately. Returns medians, 99th percentiles, and each median relative to the first one of
/// its group.
async fn measure_latency(reads: &[ReadCase]) -> Result<Vec<Metric>, Failure> {
    let mut took = vec![Vec::with_capacity(REQUESTS_PER_METRIC); reads.len()];
    for round in 0..=REQUESTS_PER_METRIC {
        for (read, took) in reads.iter().zip(&mut took) {
            let one = read.client.get(&read.path).await?;
            // The first round may start a process.
            if round > 0 {
                took.push(millis(one));
            }
        }
    }
    let mut metrics: Vec<Metric> = Vec::new();
    let mut firsts: Vec<(&str, f64)> = Vec::new();
    for (read, mut took) in reads.iter().zip(took) {
        took.sort_unstable_by(f64::total_cmp);
        let median = percentile(&took, 50);
        let mut add =
            |name: &str, unit, value| metrics.push(Metric::new(read.group, &read.name(name), unit, value));
        add("p50", "ms", median);
        add("p99", "ms", percentile(&took, 99));
        match firsts.iter().find(|(group, _)| *group == read.group) {
            Some((_, first)) => add("p50 relative to the first row", "×", median / first),
            None => firsts.push((read.group, median)),
        }
    }
    Ok(metrics)
}

/// Creates sessions of one turn each. The first is a real one, the others are copies of the items that lists read.
async fn create_sessions(client: &Client, sessions: usize) -> Result<(), Failure> {
    let first = client.session(Shape::Buffered).await?;
    let (table, name) = &client.table;
    let partition = |session: &str| AttributeValue::S(format!("O#{}#S#{session}", client.org));
    let query = table.query().table_name(*name).key_condition_expression("PK = :first");
    let found = query.expression_attribute_values(":first", partition(&first)).send().await?;
    let listed: Vec<_> =
        found.items.unwrap_or_default().into_iter().filter(|item| item.contains_key("GSI1PK")).collect();
    let start = Timestamp::from_millis(1_767_225_600_000);
    let copies = (1..sessions).flat_map(|number| {
        let session = format!("s{number}");
        let at = Timestamp::from_millis(start.as_millis() + i64::try_from(number).unwrap_or_default());
        let copied = |item: &HashMap<String, AttributeValue>| {
            let mut copy = item.clone();
            copy.insert("PK".to_owned(), partition(&session));
            copy.insert("GSI1SK".to_owned(), AttributeValue::S(format!("{at}#{session}")));
            let put = PutRequest::builder().set_item(Some(copy)).build().ok()?;
            Some(WriteRequest::builder().put_request(put).build())
        };
        listed.iter().filter_map(copied).collect::<Vec<_>>()
    });
    let batches = stream::iter(copies).chunks(BATCH_ITEMS).map(|batch| async move {
        let written = table.batch_write_item().request_items(*name, batch).send().await?;
        match written.unprocessed_items.unwrap_or_default().is_empty() {
            true => Ok::<_, Failure>(()),
            false => Err("the table did not accept every session".into()),
        }
    });
    batches.buffer_unordered(CONCURRENT_BATCHES).try_collect().await
}
