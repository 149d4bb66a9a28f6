//! `GET /api/ai/agent/search` where sessions are indexed, and the index itself.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use contracts::{Timestamp, paths};
use llm::ApiKey;
use local::{Function, Options, token::Identity};
use protocol::id::SessionKey;
use qdrant_client::qdrant::{
    DeletePointsBuilder, Filter, NamedVectors, PointStruct, UpsertPointsBuilder, Value as PayloadValue,
    Vector,
};
use reqwest::Method;
use retrieval::connection::Clients;
use retrieval::sessions::{SessionIndexTimeouts, SessionPoints};
use serde_json::{Value, json};
use storage::Table;
use turns::ports::{Indexed, SessionIndex};
use uuid::Uuid;

use crate::{
    capacity::Units,
    export::operator,
    fork::fork,
    import::{import, text},
    scale::fill_session,
    search::{asking, ended, ids},
    session_edits::{delete, edit, session_of},
    support::{Client, PATIENCE, System, options, session_path, set, turn},
};

/// The collection that the local cloud keeps the index in.
const SESSIONS: &str = "sessions";

/// The warning of a search without the index.
const WITHOUT: &str = "The index of sessions could not be reached just now";

/// Sources are indexed, and so are sessions.
async fn indexing(options: Options) -> System {
    let system = System::with(options).await;
    system.indexed("sources", 3, &[]).await;
    system
}

/// Waits until every session of so many orgs is in the index.
async fn filled(system: &System, orgs: usize) {
    let is_filled = |point: &&Value| point["FilledTo"] == "";
    system.until_points(SESSIONS, |points| points.iter().filter(is_filled).count() == orgs).await;
}

/// Waits until the words find these sessions, in this order.
async fn finds(client: &Client, words: &str, sessions: &[&str]) {
    let path = asking(words);
    let found = |answer: &crate::support::Answer| -> Vec<String> {
        let result = answer.result();
        let items = result["Items"].as_array().unwrap().iter();
        items.map(|one| one["Session"]["Id"].as_str().unwrap().to_owned()).collect()
    };
    let answer = client.until(&path, PATIENCE, |answer| found(answer) == sessions).await;
    assert_eq!(found(&answer), sessions, "{words}");
    assert_eq!(answer.json().get("Warnings").unwrap_or(&json!([])), &json!([]), "{words}");
}

/// Every page of a list: the ids of its sessions, and how many each page has.
async fn pages(client: &Client, path: &str, id: &str) -> (Vec<String>, Vec<usize>) {
    let (mut all, mut sizes, mut next) = (Vec::new(), Vec::new(), path.to_owned());
    loop {
        let page = client.get(&next).await.result();
        let items = page["Items"].as_array().unwrap();
        sizes.push(items.len());
        all.extend(items.iter().map(|item| item.pointer(id).unwrap().as_str().unwrap().to_owned()));
        let Some(token) = page["ContinuationToken"].as_str() else { return (all, sizes) };
        next = format!("{path}&continuationToken={token}");
        assert!(sizes.len() < 20, "a list comes to an end");
    }
}

#[tokio::test]
async fn index_finds_sessions_beyond_a_scan_newest_first_and_paged() {
    let system = System::metered().await;
    system.indexed("sources", 3, &[]).await;
    let table = Table::new(system.cloud.dynamodb().clone(), system.cloud.table().to_owned());
    for number in 0..110 {
        fill_session(&table, "acme", &format!("s{number}"), 1).await;
    }
    let ada = system.client("acme", "ada");
    let (listed, _) = pages(&ada, &format!("{}?pageSize=50", paths::SESSIONS), "/Id").await;
    let oldest = listed.last().unwrap();
    edit(&ada, &json!({ "SessionId": oldest }), json!({"Name": "The Needle"})).await.result();
    system.send_to_finalizer(&json!({"Kind": "session_index", "Org": "acme"})).await;
    filled(&system, 1).await;
    finds(&ada, "needle", &[oldest]).await;

    Units::take(&system);
    assert_eq!(pages(&ada, &asking("needle"), "/Session/Id").await, (vec![oldest.clone()], vec![1]));
    let read = Units::take(&system).reads;
    println!("one session of 110 by the index: {read} read units");
    assert!(read <= 5.0, "{read} read units");
    let all = pages(&ada, &format!("{}&pageSize=50", asking("question")), "/Session/Id").await;
    assert_eq!(all, (listed, vec![50, 50, 10]));
    assert_eq!(pages(&ada, &format!("{}&userId=ada", asking("needle")), "/Session/Id").await.1, [1]);
    assert_eq!(pages(&ada, &format!("{}&userId=bob", asking("needle")), "/Session/Id").await.1, [0]);
}

#[tokio::test]
async fn index_finds_new_renamed_forked_and_imported_sessions() {
    let system = indexing(options()).await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let first = turn("Where the heron nests [[script: say \"By the old weir.\"]]");
    ended(&ada, &first).await;
    let session = session_of(&first);
    filled(&system, 1).await;
    for words in ["heron", "nest her", "weir"] {
        finds(&ada, words, &[session]).await;
    }
    edit(&ada, &first, json!({"Name": "Großer Brachvogel"})).await.result();
    finds(&ada, "grosser heron brachen", &[]).await;
    finds(&ada, "grosser brach", &[session]).await;
    finds(&ada, "großer weir", &[session]).await;

    let document = text(&op, &first).await;
    let imported = import(&op, &document, "?ids=new").await.result();
    let imported = imported["Sessions"][0]["Id"].as_str().unwrap();
    let mut both = [session, imported];
    both.sort_unstable_by(|one, other| other.cmp(one));
    finds(&ada, "brachvogel", &both).await;

    let forked = json!({"SessionId": "forked", "TurnId": first["TurnId"], "Name": "Kingfisher"});
    fork(&ada, &first, &forked).await.result();
    finds(&ada, "kingfisher", &["forked"]).await;
}

#[tokio::test]
async fn index_never_reveals_private_deleted_purged_or_foreign_sessions() {
    let system = indexing(options()).await;
    let (ada, bob, eve) =
        (system.client("acme", "ada"), system.client("acme", "bob"), system.client("rival", "eve"));
    let (private, deleted, open, theirs) =
        (turn("a secret plan"), turn("a secret deed"), turn("an open secret"), turn("a rival's secret"));
    for (client, request) in [(&ada, &private), (&ada, &deleted), (&ada, &open), (&eve, &theirs)] {
        ended(client, request).await;
    }
    filled(&system, 2).await;
    finds(&bob, "secret", &[session_of(&open), session_of(&deleted), session_of(&private)]).await;
    edit(&ada, &private, json!({"Visibility": "participants"})).await.result();
    delete(&ada, &deleted).await.result();

    // Points that lie: of a session of another org, of none, of words that are not there, and of a user.
    let url = system.cloud.qdrant().await.unwrap();
    let index =
        SessionPoints::<ApiKey>::new(url, None, SESSIONS.to_owned(), SessionIndexTimeouts::INDEXING).unwrap();
    for session in [session_of(&theirs), "nowhere", session_of(&open)] {
        let terms = ["secret", "treasure"].map(str::to_owned);
        let lie = Indexed {
            key: SessionKey { org: "acme".parse().unwrap(), session: session.parse().unwrap() },
            last_activity: Timestamp::from_millis(1_800_000_000_000),
            users: BTreeSet::from(["ada".parse().unwrap(), "bob".parse().unwrap()]),
            terms: terms.into(),
        };
        index.put(&[lie]).await.unwrap();
    }
    assert_eq!(ids(&bob, "secret").await, [session_of(&open)]);
    assert_eq!(ids(&bob, "treasure").await, [""; 0]);
    assert_eq!(ids(&eve, "secret").await, [session_of(&theirs)]);
    assert_eq!(ids(&ada, "secret").await, [session_of(&open), session_of(&private)]);
    let of = async |client: &Client, more: &str| {
        pages(client, &format!("{}&{more}", asking("secret")), "/Session/Id").await.0
    };
    assert_eq!(of(&ada, "includeDeleted=true").await.len(), 3);
    assert_eq!(of(&bob, "userId=bob").await, [""; 0], "the table says who takes part");
    assert_eq!(of(&bob, "from=2100-01-01T00:00:00Z").await, [""; 0], "and when it was active");
}

/// After a change of how terms are made, the index counts as empty: searches scan until it is filled again.
#[tokio::test]
async fn earlier_points_are_replaced_by_a_backfill() {
    let system = indexing(options()).await;
    let ada = system.client("acme", "ada");
    let request = turn("Die große Straße");
    ended(&ada, &request).await;
    let session = session_of(&request);
    filled(&system, 1).await;

    // As an earlier version left it: complete, and without the terms of this one.
    let earlier = |name: &str, payload: HashMap<&str, PayloadValue>| {
        let namespace = Uuid::from_u128(0x1f0c_6a7e_93b1_4c58_8d2e_44a1_f7be_0c35);
        let vectors = HashMap::from([("prefixes".to_owned(), Vector::new_sparse(vec![0], vec![0.5]))]);
        let id = Uuid::new_v5(&namespace, name.as_bytes()).to_string();
        PointStruct::new(id, NamedVectors { vectors }, payload)
    };
    let of_session = HashMap::from([
        ("OrgId", "acme".into()),
        ("SessionId", session.into()),
        ("LastActivity", 1.into()),
        ("UserIds", vec!["ada".to_owned()].into()),
    ]);
    let name = format!("4:acme/{}:{session}", session.len());
    let of_org = HashMap::from([("FilledTo", "".into())]);
    let points = vec![earlier(&name, of_session), earlier("4:acme", of_org)];
    let clear = DeletePointsBuilder::new(SESSIONS).points(Filter::default()).wait(true).build();
    let put = UpsertPointsBuilder::new(SESSIONS, points).wait(true).build();
    let replace = |qdrant: Clients| {
        let (clear, put) = (clear.clone(), put.clone());
        async move {
            qdrant.points().delete(clear).await?;
            qdrant.points().upsert(put).await
        }
    };
    system.database().await.call(replace).await.unwrap();

    finds(&ada, "strasse gross", &[session]).await;
    system.send_to_finalizer(&json!({"Kind": "session_index", "Org": "acme"})).await;
    filled(&system, 2).await;
    let of_session = |point: &&Value| point["SessionId"] == session;
    let points = system.points(SESSIONS).await;
    let points: Vec<&Value> = points.iter().filter(of_session).collect();
    assert!(points.len() == 1 && points[0]["LastActivity"] != 1, "{points:?}");
    finds(&ada, "strasse gross", &[session]).await;
}

#[tokio::test]
async fn purged_session_has_no_point_left_and_its_report_says_so() {
    let again = set(options(), &[("PURGE_RECHECK_SECONDS", "1")]);
    let system = indexing(Options { sweep: Some(Duration::from_secs(1)), ..again }).await;
    let ada = system.client("acme", "ada");
    let (purged, stays) = (turn("to be forgotten"), turn("to be kept"));
    for request in [&purged, &stays] {
        ended(&ada, request).await;
        finds(&ada, "to be", &[session_of(request)]).await;
        if *request == purged {
            let path = format!("{}?purge=true", session_path(request));
            ada.send(Method::DELETE, &path, None).await.result();
        }
    }
    let path = format!("{}/purge", session_path(&purged));
    let report = ada.until(&path, PATIENCE, |answer| answer.text.contains("\"State\":\"done\"")).await;
    assert_eq!(report.result()["SearchIndex"], "removed", "{}", report.text);
    // The session that stays may be found by a scan before its point is written.
    let has = |points: &[Value], session: &str| points.iter().any(|point| point["SessionId"] == session);
    system.until_points(SESSIONS, |points| has(points, session_of(&stays))).await;
    assert!(!has(&system.points(SESSIONS).await, session_of(&purged)));
}

#[tokio::test]
async fn index_outage_leaves_turns_working_and_search_scans_with_warning() {
    let system = System::with(set(options(), &[("QDRANT_URL", "http://127.0.0.1:1")])).await;
    let ada = system.client("acme", "ada");
    let (first, second) = (turn("a heron by the water"), turn("an egret by the water"));
    ended(&ada, &first).await;
    ended(&ada, &second).await;
    let path = format!("{}&pageSize=1", asking("water"));
    let answer = ada.get(&path).await;
    let warnings = answer.json()["Warnings"].clone();
    assert!(warnings.as_array().unwrap().len() == 1 && warnings.to_string().contains(WITHOUT), "{warnings}");
    let (found, _) = pages(&ada, &path, "/Session/Id").await;
    assert_eq!(found, [session_of(&second), session_of(&first)]);
    let missed = |line: &Value| line["message"] == "session indexing failed";
    system.logged(Function::TurnFinalizer, "session indexing failed", missed).await;
    // What could not be purged from the index is asked for again, and holds up nothing else.
    let purge = format!("{}?purge=true", session_path(&first));
    ada.send(Method::DELETE, &purge, None).await.result();
    let report = format!("{}/purge", session_path(&first));
    let pending = ada.until(&report, PATIENCE, |answer| answer.text.contains("\"pending\"")).await.result();
    assert_eq!((&pending["SearchIndex"], &pending["State"]), (&json!("pending"), &json!("running")));
    let op = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    assert_eq!(ids(&op, "heron").await, [""; 0]);
}

#[tokio::test]
async fn page_token_works_for_index_and_scan() {
    let system = indexing(options()).await;
    let ada = system.client("acme", "ada");
    let requests: Vec<Value> = (0..3).map(|number| turn(&format!("common words {number}"))).collect();
    let path = format!("{}&pageSize=1", asking("common"));
    for request in &requests[..2] {
        ended(&ada, request).await;
    }
    let one_by_one = ada.get(&path).await.result();
    ended(&ada, &requests[2]).await;
    filled(&system, 1).await;
    finds(&ada, "common", &[2, 1, 0].map(|number: usize| session_of(&requests[number]))).await;
    let next =
        |page: &Value| format!("{path}&continuationToken={}", page["ContinuationToken"].as_str().unwrap());
    let rest = |page: Value| pages_from(&ada, next(&page), &path);
    assert_eq!(rest(one_by_one).await, [session_of(&requests[0])]);
    let indexed = ada.get(&path).await.result();
    // The index is gone, and with it what it was filled with.
    system.drop_collection(SESSIONS).await;
    assert_eq!(rest(indexed).await, [1, 0].map(|number: usize| session_of(&requests[number])));
}

/// The sessions of a search from a page on.
async fn pages_from(client: &Client, first: String, path: &str) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), Some(first));
    while let Some(at) = next {
        let page = client.get(&at).await.result();
        let items = page["Items"].as_array().unwrap().iter();
        found.extend(items.map(|one| one["Session"]["Id"].as_str().unwrap().to_owned()));
        next = page["ContinuationToken"].as_str().map(|token| format!("{path}&continuationToken={token}"));
    }
    found
}
