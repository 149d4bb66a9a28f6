//! Page tokens as an attacker sees them: pages end at sessions that are private to others, and no token tells which.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::paths::{SEARCH, SESSIONS};
use futures::{StreamExt, future::join_all, stream};
use serde_json::{Value, json};

use crate::fork::fork;
use crate::session_edits::edit;
use crate::support::{Client, System, id, options, turn};

/// The number of pages to read.
const PAGES: usize = 500;
/// The number of private sessions. A page of one session reads at most ten.
const PRIVATE: usize = 32;
/// The number of sessions that the attacker may see.
const SHARED: usize = 20;
/// The number of walks at a time.
const CONCURRENT_WALKS: usize = 4;

/// A page that ended with a token.
struct Page {
    is_empty: bool,
    body: String,
    token: Vec<u8>,
}

/// Reads a list page by page to its end, at most this many pages.
async fn walk(client: &Client, list: &str, query: &str, most: usize) -> Vec<Page> {
    let (mut pages, mut path) = (Vec::new(), format!("{list}?pageSize=1{query}"));
    while pages.len() < most {
        let answer = client.get(&path).await;
        let page = answer.result();
        let Some(token) = page["ContinuationToken"].as_str() else { break };
        path = format!("{list}?pageSize=1{query}&continuationToken={token}");
        pages.push(Page {
            is_empty: page["Items"].as_array().unwrap().is_empty(),
            body: answer.text.clone(),
            token: URL_SAFE_NO_PAD.decode(token).unwrap(),
        });
    }
    pages
}

/// Creates forks of a turn, which are as visible as its session.
async fn forks(client: &Client, of: &Value, number: usize) -> Vec<String> {
    let ids: Vec<String> = (0..number).map(|_| id()).collect();
    let bodies: Vec<Value> = ids.iter().map(|id| json!({"SessionId": id, "TurnId": of["TurnId"]})).collect();
    for body in bodies.chunks(CONCURRENT_WALKS) {
        for forked in join_all(body.iter().map(|body| fork(client, of, body))).await {
            forked.result();
        }
    }
    ids
}

/// Every eight bytes in a row of an id, as text and as the bytes that it spells.
fn traces(id: &str) -> BTreeSet<Vec<u8>> {
    let digits: Vec<u32> = id.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect();
    [id.as_bytes(), id.to_uppercase().as_bytes(), &bytes]
        .iter()
        .flat_map(|form| form.windows(8).map(<[u8]>::to_vec))
        .collect()
}

#[tokio::test]
async fn tokens_of_500_pages_name_no_private_session() {
    let system = System::measured(options()).await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let secret = turn("private words");
    ada.execute(&secret).await.result();
    edit(&ada, &secret, json!({"Visibility": "participants"})).await.result();
    let private = forks(&ada, &secret, PRIVATE).await;
    let shared = turn("shared words");
    ada.execute(&shared).await.result();
    let visible = forks(&ada, &shared, SHARED).await;

    let all = ada.get(&format!("{SESSIONS}?pageSize=100")).await.result();
    let dated = |ids: &[String]| -> Vec<String> {
        let listed = all["Items"].as_array().unwrap().iter();
        let listed = listed.filter(|item| ids.iter().any(|id| item["Id"] == *id));
        let mut dates: Vec<String> =
            listed.map(|item| item["LastUpdatedDate"].as_str().unwrap().to_owned()).collect();
        dates.dedup();
        dates
    };
    // Walks that begin at ten private sessions in a row, so that their pages end at each of the others.
    let mut walks: Vec<(&str, String)> =
        dated(&private).iter().take(10).map(|to| (SESSIONS, format!("&to={to}"))).collect();
    walks.push((SESSIONS, format!("&userId=ada&to={}", dated(&private)[0])));
    // Each list has tokens of its own.
    let since = dated(&visible).pop().unwrap();
    walks.extend(
        (0..PAGES / SHARED + 2)
            .map(|number| (SESSIONS, format!("&from={since}&to=2099-01-01T00:00:00.{number:03}Z"))),
    );
    let read = walks.iter().map(|(list, query)| walk(&eve, list, query, SHARED + 5));
    let read: Vec<Vec<Page>> = stream::iter(read).buffer_unordered(CONCURRENT_WALKS).collect().await;
    let mut pages: Vec<Page> = read.into_iter().flatten().collect();
    pages.extend(walk(&eve, SEARCH, "&q=words", 5).await);
    assert!(pages.len() >= PAGES, "{} pages", pages.len());
    let at_private = pages.iter().filter(|page| page.is_empty).count();
    assert!(at_private >= 20, "only {at_private} pages ended at a private session");

    let traces: BTreeSet<Vec<u8>> = private.iter().flat_map(|id| traces(id)).collect();
    let tells = |bytes: &[u8]| bytes.windows(8).any(|window| traces.contains(window));
    assert!(tells(private[0].as_bytes()), "a trace is recognized");
    let named = pages.iter().filter(|page| tells(page.body.as_bytes()) || tells(&page.token)).count();
    assert_eq!(named, 0, "of {} pages", pages.len());
    let tokens: BTreeSet<&Vec<u8>> = pages.iter().map(|page| &page.token).collect();
    assert_eq!(tokens.len(), pages.len(), "no two lists have a token in common");
}
