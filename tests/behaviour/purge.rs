//! `DELETE …/sessions/{SessionId}?purge=true`, and what becomes of a deleted session when its retention is over.

use std::{collections::BTreeSet, time::Duration};

use contracts::paths::SESSIONS;
use local::{Function, Options, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::session_edits::{delete, edit, restore, session_of};
use crate::support::{
    Answer, Client, PATIENCE, System, id, is_chained, options, session_path, turn, turn_in, turn_path,
};

/// A system whose purges look once more soon.
async fn system(more: &[(&str, &str)]) -> System {
    let again = [("PURGE_RECHECK_SECONDS", "1")].iter().chain(more);
    let environment = again.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    System::with(Options { environment, sweep: Some(Duration::from_secs(1)), ..options() }).await
}

async fn purge(client: &Client, turn: &Value) -> Answer {
    client.send(Method::DELETE, &format!("{}?purge=true", session_path(turn)), None).await
}

async fn done(client: &Client, turn: &Value) -> Value {
    let path = format!("{}/purge", session_path(turn));
    let answer = client.until(&path, PATIENCE, |answer| answer.text.contains("\"State\":\"done\"")).await;
    let report = answer.result();
    assert_eq!(report["State"], "done", "{report}");
    report
}

/// Returns all items and object versions that name the session.
async fn left(system: &System, turn: &Value) -> (Vec<String>, Vec<String>) {
    let session = session_of(turn);
    let of_session = |text: &str| text.contains(session);
    let items = system.items().await.into_iter().map(|item| format!("{item:?}"));
    let objects = system.versions().await;
    (
        items.filter(|item| of_session(item)).collect(),
        objects.into_iter().filter(|key| of_session(key)).collect(),
    )
}

fn operator(system: &System) -> Client {
    system.identified(&Identity { operator: true, ..Identity::user("acme", "op") })
}

/// The responses that the provider keeps of these turns: those that it gave, and those that they went on from.
async fn kept_of(system: &System, op: &Client, turns: &[&Value]) -> BTreeSet<String> {
    let ids = |call: &Value| call["previous_response_id"].as_str().map(str::to_owned);
    let mut kept: BTreeSet<String> = system.model_calls().iter().filter_map(ids).collect();
    for turn in turns {
        let read = op.get(&turn_path(turn)).await.result();
        kept.insert(read["OpenAIResponseId"].as_str().unwrap().to_owned());
    }
    kept
}

const PUBLISHES: &str = "Publish [[script: call publish_file {\"name\":\"a.txt\",\"media_type\":\"text/plain\",\
    \"contents\":\"text\",\"encoding\":\"utf8\",\"description\":null}; then; say \"Done.\"]]";

#[tokio::test]
async fn purged_session_leaves_only_its_tombstone() {
    let system = system(&[]).await;
    let (ada, bob, op) = (system.client("acme", "ada"), system.client("acme", "bob"), operator(&system));
    let request = turn(PUBLISHES);
    ada.execute(&request).await.result();
    let second = turn_in(session_of(&request), "A secret of bob's");
    bob.execute(&second).await.result();
    let mut refused = second.clone();
    // Too large to be part of the table, so it is stored before it is refused.
    refused["Instruction"] = json!("something else ".repeat(300));
    assert_eq!(bob.execute(&refused).await.status, 409, "what was stored of it is an old version by now");
    let other = turn("another session");
    ada.execute(&other).await.result();
    let head = format!("TURN#{}", other["TurnId"].as_str().unwrap());
    system.until_attribute(&head, "Status", "completed").await;
    let before = left(&system, &other).await;
    assert!(
        left(&system, &request).await.1.iter().any(|key| key.contains("marker")),
        "there is an old version"
    );

    for asked in [&request, &second] {
        assert_eq!(ada.get(&format!("{}/payloads/answer", turn_path(asked))).await.status, 302);
    }
    let said = json!({"Rating": 5, "Note": "a secret of bob's"}).to_string();
    bob.send(Method::PUT, &format!("{}/feedback", turn_path(&request)), Some(said.clone())).await.result();
    let kept = kept_of(&system, &op, &[&request, &second]).await;
    assert_eq!(kept.len(), 3, "{kept:?}");

    let begun = purge(&ada, &request).await.result();
    let late = bob.send(Method::PUT, &format!("{}/feedback", turn_path(&request)), Some(said)).await;
    assert_eq!((late.status, late.error().as_str()), (404, "TurnNotFound"));
    assert_eq!(begun["Id"], request["SessionId"]);
    let report = done(&ada, &request).await;
    assert_eq!(
        (&report["Items"]["turns"], &report["Items"]["participants"]),
        (&json!(2), &json!(2)),
        "{report}"
    );
    assert_eq!(
        (&report["Objects"]["answers"], &report["Objects"]["files"]),
        (&json!(2), &json!(1)),
        "{report}"
    );
    assert!(report["Objects"]["delete_markers"].as_u64() >= Some(1), "{report}");
    assert!(report["ObjectBytes"].as_u64() > Some(0) && report["ManifestHash"].as_str().unwrap().len() == 64);
    assert_eq!(report["DeletedByUserId"], "ada");
    assert_eq!(report["Items"]["feedback"], 1, "{report}");
    assert_eq!(
        report["UpstreamResponses"],
        json!({"Removed": kept.len(), "Pending": 0, "NotRemoved": 0}),
        "the answers of both turns, and what the first one called its tool in"
    );
    let removed: BTreeSet<String> = system.cloud.model().unwrap().removals().into_iter().collect();
    assert_eq!(removed, kept);
    let of_purge = |line: &Value| line["action"] == "purge" && line["session"] == request["SessionId"];
    let audited = system.logged(Function::Execute, "audit", of_purge).await;
    assert_eq!((audited.len(), &audited[0]["user"]), (1, &json!("ada")), "{audited:?}");

    let (items, objects) = left(&system, &request).await;
    assert_eq!(objects, Vec::<String>::new());
    assert_eq!(items.len(), 2, "the tombstone and the report: {items:#?}");
    for item in &items {
        for secret in ["Publish", "secret", "bob", "resp_"] {
            assert!(!item.contains(secret), "{secret}: {item}");
        }
    }
    let after = left(&system, &other).await;
    assert_eq!((after.0.len(), after.1), (before.0.len(), before.1), "nothing else was touched");
}

#[tokio::test]
async fn purged_session_reads_as_unknown_and_takes_no_turns() {
    let system = system(&[]).await;
    let ada = system.client("acme", "ada");
    let request = turn("first words");
    ada.execute(&request).await.result();
    purge(&ada, &request).await.result();
    let unknown = |path: &str| path.replace(session_of(&request), "0123456789abcdef0123456789abcdef");
    for after in ["while it is purged", "when it is"] {
        for path in [
            session_path(&request),
            turn_path(&request),
            format!("{}/turns/last", session_path(&request)),
            format!("{}/mode-history", session_path(&request)),
            format!("{}/payloads/answer", turn_path(&request)),
            format!("{}/stream", turn_path(&request)),
        ] {
            let (gone, never) = (ada.get(&path).await, ada.get(&unknown(&path)).await);
            assert_eq!((gone.status, &gone.text), (404, &never.text), "{after}: {path}");
        }
        for instruction in ["more", "first words"] {
            let refused = ada.execute(&turn_in(session_of(&request), instruction)).await;
            assert_eq!(refused.status, 404, "{after}: {}", refused.text);
        }
        let list = ada.get(&format!("{SESSIONS}?includeDeleted=true")).await.result();
        assert_eq!(list["Items"], json!([]), "{after}");
        let same = purge(&ada, &request).await.result();
        assert_eq!(same["Id"], request["SessionId"], "{after}: again is once");
        done(&ada, &request).await;
    }
    for refused in [
        restore(&ada, &request).await,
        delete(&ada, &request).await,
        edit(&ada, &request, json!({"Name": "back"})).await,
    ] {
        assert_eq!((refused.status, refused.error().as_str()), (404, "SessionNotFound"));
    }
}

#[tokio::test]
async fn sweep_purges_deleted_session_after_retention_unless_restored() {
    // Two seconds.
    let system = system(&[("SESSION_RETENTION_DAYS", "0.0000231")]).await;
    let ada = system.client("acme", "ada");
    let (kept, gone) = (turn("kept"), turn("gone"));
    for request in [&kept, &gone] {
        ada.execute(request).await.result();
        delete(&ada, request).await.result();
    }
    restore(&ada, &kept).await.result();
    let report = done(&ada, &gone).await;
    assert_eq!(report["Items"]["turns"], 1, "{report}");
    assert_eq!(ada.get(&session_path(&gone)).await.status, 404);
    assert_eq!(ada.get(&session_path(&kept)).await.result()["IsDeleted"], false);
    let unpurged = ada.get(&format!("{}/purge", session_path(&kept))).await;
    assert_eq!((unpurged.status, unpurged.error().as_str()), (404, "SessionNotFound"));
}

#[tokio::test]
async fn purge_and_its_report_need_the_owner_or_an_operator() {
    let system = system(&[]).await;
    let (ada, bob, eve) =
        (system.client("acme", "ada"), system.client("acme", "bob"), system.client("rival", "eve"));
    let request = turn("first words");
    ada.execute(&request).await.result();
    bob.execute(&turn_in(session_of(&request), "from bob")).await.result();
    let refused = purge(&bob, &request).await;
    assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
    let unknown = eve.get(&format!("{}/purge", session_path(&turn("never sent")))).await;
    let foreign = purge(&eve, &request).await;
    assert_eq!((foreign.status, &foreign.text), (404, &unknown.text));
    let op = operator(&system);
    purge(&op, &request).await.result();
    done(&op, &request).await;
    assert_eq!(done(&ada, &request).await["DeletedByUserId"], "op");
    for client in [&bob, &eve] {
        let hidden = client.get(&format!("{}/purge", session_path(&request))).await;
        assert_eq!((hidden.status, &hidden.text), (404, &unknown.text));
    }
}

#[tokio::test]
async fn purge_ends_the_running_turn() {
    let system = system(&[]).await;
    let ada = system.client("acme", "ada");
    let slow = turn("Take your time [[script: delay 20s]]");
    let purged = async {
        system.model_called(1).await;
        purge(&ada, &slow).await.result();
        system.model_calls().len()
    };
    let (running, calls) = futures::join!(ada.execute(&slow), purged);
    assert!([404, 409].contains(&running.status), "{}", running.text);
    done(&ada, &slow).await;
    assert_eq!(system.model_calls().len(), calls);
    assert_eq!(left(&system, &slow).await.1, Vec::<String>::new());
}

#[tokio::test]
async fn provider_without_deletion_does_not_block_purge_and_is_reported() {
    let system = system(&[("PURGE_RECHECK_SECONDS", "0.1")]).await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system));
    let request = turn("first words");
    ada.execute(&request).await.result();
    let kept = kept_of(&system, &op, &[&request]).await;
    system.cloud.model().unwrap().refuse_removals(true);
    purge(&ada, &request).await.result();
    let report = done(&ada, &request).await;
    assert_eq!(report["UpstreamResponses"], json!({"Removed": 0, "Pending": 0, "NotRemoved": 1}), "{report}");
    assert_eq!(left(&system, &request).await.1, Vec::<String>::new());
    let told = done(&op, &request).await["UpstreamResponses"]["NotRemovedIds"].clone();
    assert_eq!(told[0]["ResponseId"].as_str(), kept.first().map(String::as_str), "{told}");
}

#[tokio::test]
async fn purge_parameter_is_valid_only_on_delete() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("first words");
    ada.execute(&request).await.result();
    let path = format!("{}?purge=true", session_path(&request));
    let reads = ada.get(&path).await;
    let edits = ada.send(Method::PATCH, &path, Some(json!({"Name": "a"}).to_string())).await;
    let pages = format!("{}?pageSize=1", session_path(&request));
    let deletes = ada.send(Method::DELETE, &pages, None).await;
    for (refused, member) in [(reads, "purge"), (edits, "purge"), (deletes, "pageSize")] {
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"));
        assert_eq!(refused.errors()[0]["Details"], member, "{}", refused.text);
    }
    assert_eq!(ada.get(&session_path(&request)).await.result()["IsDeleted"], false);
}

async fn fork(client: &Client, of: &Value) -> String {
    let session = id();
    let body = json!({"SessionId": session, "TurnId": of["TurnId"]}).to_string();
    client.post(&format!("{}/fork", session_path(of)), body).await.result();
    session
}

#[tokio::test]
async fn fork_survives_purged_parent() {
    let system = system(&[]).await;
    let ada = system.client("acme", "ada");
    let mut first = turn("The origin's secret");
    first["SolutionContextText"] = json!("A secret workspace.");
    ada.execute(&first).await.result();
    let forked = fork(&ada, &first).await;
    let own = turn_in(&forked, "The fork's own words");
    ada.execute(&own).await.result();
    assert!(is_chained(&system.last_call()));
    let deeper = fork(&ada, &own).await;
    let untouched = fork(&ada, &first).await;

    purge(&ada, &first).await.result();
    for after in ["while it is purged", "when it is"] {
        for (session, instruction) in
            [(&forked, "Goes on"), (&deeper, "Goes on deeper"), (&untouched, "Begins")]
        {
            let session = if after == "when it is" { &fork_again(&ada, session).await } else { session };
            let next = turn_in(session, instruction);
            let answer = ada.execute(&next).await.result();
            let warnings = answer["UserWarnings"].to_string();
            assert!(warnings.contains("was purged"), "{after}: {instruction}: {warnings}");
            assert_eq!(answer["UserWarnings"].as_array().unwrap().len(), 1, "{warnings}");
            let call = system.last_call();
            assert!(!is_chained(&call) && !call.to_string().contains("secret"), "{after}: {call}");
            let tells_own = call.to_string().contains("The fork's own words");
            assert_eq!(tells_own, instruction != "Begins", "{after}: {instruction}: {call}");

            let again = ada.execute(&turn_in(session, "And on")).await.result();
            assert!(again.get("UserWarnings").is_none(), "{again}");
            assert!(is_chained(&system.last_call()), "what its provider remembers is clean by now");
        }
        done(&ada, &first).await;
    }
    let rerun = format!("{}/rerun", turn_path(&own));
    let answer = ada.post(&rerun, json!({"TurnId": id()}).to_string()).await.result();
    assert!(!system.last_call().to_string().contains("secret"), "{answer}");
    assert!(!is_chained(&system.last_call()));
}

/// A fork of a session's newest turn.
async fn fork_again(client: &Client, session: &str) -> String {
    let last = client.get(&format!("{SESSIONS}/{session}/turns/last")).await.result();
    fork(client, &json!({"SessionId": session, "TurnId": last["Id"]})).await
}
