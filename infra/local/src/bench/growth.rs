//! Lists and reads where there is much beside those where there is little, and turns late in a long session.

use std::collections::HashMap;
use std::path::Path;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use contracts::{Timestamp, id::SessionId, paths};
use futures::{StreamExt, TryStreamExt, stream};

use super::Failure;
use super::calls::{self, Service};
use super::client::Client;
use super::figure::{Figure, percentile};
use super::late;
use super::load::millis;
use super::system::System;

/// Sessions in an org.
const ORGS: [usize; 3] = [10, 1_000, 100_000];
/// Turns in a session.
const SESSIONS: [usize; 3] = [10, 50, 2_000];
/// Requests that make a figure.
const REQUESTS: usize = 300;
/// Items that are written together, and batches of them.
const BATCH: usize = 24;
const BATCHES: usize = 8;

/// Something that is read, with how much of it there is.
struct Read {
    of: &'static str,
    much: usize,
    client: Client,
    path: String,
}

impl Read {
    fn name(&self, figure: &str) -> String {
        format!("{:>7}: {figure}", self.much)
    }
}

pub(super) async fn measure(
    program: &Path,
    number: usize,
    tell: &impl Fn(&str),
) -> Result<Vec<Figure>, Failure> {
    let system = System::start(program, number).await?;
    let (reads, longest) = grow(&system, tell).await?;
    tell("late turns beside early ones");
    let mut figures = late::compare(&system, &longest).await?;
    tell("reads, timed");
    figures.extend(timed(&reads).await?);
    system.shutdown().await;
    let (system, notes) = calls::noted(program, number).await?;
    let (reads, _) = grow(&system, tell).await?;
    tell("reads, their units");
    for read in &reads {
        notes.take();
        read.client.get(&read.path).await?;
        let units =
            notes.take().iter().filter(|call| call.service == Service::Table).map(|call| call.units).sum();
        figures.push(Figure::new(read.of, &read.name("read units"), "", units));
    }
    system.shutdown().await;
    Ok(figures)
}

/// Fills orgs and sessions, and says what is to be read then, and which session is the longest.
async fn grow(system: &System, tell: &impl Fn(&str)) -> Result<(Vec<Read>, String), Failure> {
    let (mut reads, mut longest) = (Vec::new(), String::new());
    for sessions in ORGS {
        tell(&format!("an org of {sessions} sessions"));
        let client = system.client_of(&format!("org{sessions}"))?;
        fill(&client, sessions).await?;
        let mut read = |of, query: &str| {
            let path = format!("{}?pageSize={query}", paths::SESSIONS);
            reads.push(Read { of, much: sessions, client: client.clone(), path });
        };
        read("a page of 10 of the org's sessions, by how many it has", "10");
        read("a page of 50 of the org's sessions, by how many it has", "50");
        read("a page of 10 of a user's sessions, by how many the org has", "10&userId=ada");
    }
    for turns in SESSIONS {
        tell(&format!("a session of {turns} turns"));
        let session = converse(system, turns).await?;
        let path = paths::SESSION.of(&session.parse::<SessionId>()?);
        let mut read = |of, rest: &str| {
            reads.push(Read {
                of,
                much: turns,
                client: system.client.clone(),
                path: format!("{path}{rest}"),
            });
        };
        read("a session with its first 10 turns, by how many it has", "?pageSize=10");
        read("a list of a session's last 10 turns, by how many it has", "/turns?order=desc&pageSize=10");
        read("a session's last turn, by how many it has", "/turns/last");
        longest = session;
    }
    Ok((reads, longest))
}

/// A session of so many turns.
async fn converse(system: &System, turns: usize) -> Result<String, Failure> {
    let session = system.client.session().await?;
    for number in 1..turns {
        system.client.next(&session).await?;
        if number % 1_000 == 0 {
            system.forget();
        }
    }
    Ok(session)
}

/// Medians and 99th percentiles, all reads by turns, and how the medians compare with the first of their kind.
async fn timed(reads: &[Read]) -> Result<Vec<Figure>, Failure> {
    let mut took = vec![Vec::with_capacity(REQUESTS); reads.len()];
    for round in 0..=REQUESTS {
        for (read, took) in reads.iter().zip(&mut took) {
            let one = read.client.get(&read.path).await?;
            // The first one may start a process.
            if round > 0 {
                took.push(millis(one));
            }
        }
    }
    let mut figures: Vec<Figure> = Vec::new();
    let mut firsts: Vec<(&str, f64)> = Vec::new();
    for (read, mut took) in reads.iter().zip(took) {
        took.sort_unstable_by(f64::total_cmp);
        let median = percentile(&took, 50);
        let mut add =
            |name: &str, unit, value| figures.push(Figure::new(read.of, &read.name(name), unit, value));
        add("p50", "ms", median);
        add("p99", "ms", percentile(&took, 99));
        match firsts.iter().find(|(of, _)| *of == read.of) {
            Some((_, first)) => add("p50 to that of the first row", "×", median / first),
            None => firsts.push((read.of, median)),
        }
    }
    Ok(figures)
}

/// So many sessions of a turn each: the first as it is written, the others as copies of what lists are made of.
async fn fill(client: &Client, sessions: usize) -> Result<(), Failure> {
    let first = client.session().await?;
    let (table, name) = &client.table;
    let partition = |session: &str| AttributeValue::S(format!("O#{}#S#{session}", client.org));
    let query = table.query().table_name(*name).key_condition_expression("PK = :first");
    let found = query.expression_attribute_values(":first", partition(&first)).send().await?;
    let listed: Vec<_> =
        found.items.unwrap_or_default().into_iter().filter(|item| item.contains_key("GSI1PK")).collect();
    let began = Timestamp::from_millis(1_767_225_600_000);
    let copies = (1..sessions).flat_map(|number| {
        let session = format!("s{number}");
        let at = Timestamp::from_millis(began.as_millis() + i64::try_from(number).unwrap_or_default());
        let copied = |item: &HashMap<String, AttributeValue>| {
            let mut copy = item.clone();
            copy.insert("PK".to_owned(), partition(&session));
            copy.insert("GSI1SK".to_owned(), AttributeValue::S(format!("{at}#{session}")));
            let put = PutRequest::builder().set_item(Some(copy)).build().ok()?;
            Some(WriteRequest::builder().put_request(put).build())
        };
        listed.iter().filter_map(copied).collect::<Vec<_>>()
    });
    let batches = stream::iter(copies).chunks(BATCH).map(|batch| async move {
        let written = table.batch_write_item().request_items(*name, batch).send().await?;
        match written.unprocessed_items.unwrap_or_default().is_empty() {
            true => Ok::<_, Failure>(()),
            false => Err("the table did not take all sessions".into()),
        }
    });
    batches.buffer_unordered(BATCHES).try_collect().await
}
