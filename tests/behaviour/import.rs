//! `POST /api/ai/agent/import`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use contracts::paths;
use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    export::{exported, full, operator},
    fork::fork,
    session_edits::session_of,
    support::{
        Answer, Client, PATIENCE, System, id, is_chained, options, session_path, turn, turn_in, turn_path,
        workspace_turn,
    },
};

pub async fn import(client: &Client, body: &str, query: &str) -> Answer {
    let path = format!("{}{query}", paths::IMPORT);
    let headers = [("content-type", "application/jsonl")];
    client.raw(Method::POST, &path, &headers, body.as_bytes().to_vec()).await
}

/// The export of a session by an operator, to the byte.
pub async fn text(client: &Client, of: &Value) -> String {
    let answer = client.get(&format!("{}/export", session_path(of))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text
}

/// Every read of a session that there is: what it is answered with, and its tag.
async fn reads(
    client: &Client,
    session: &str,
    turns: &[Value],
) -> BTreeMap<String, (String, Option<String>)> {
    let of = paths::SESSION.fill(&session.parse().unwrap());
    let mut paths = vec![
        of.clone(),
        format!("{of}?order=desc&pageSize=2"),
        format!("{of}/turns"),
        format!("{of}/turns/last"),
        format!("{of}/turns/last?status=failed"),
        format!("{of}/mode-history"),
        format!("{of}/export?payloads=links"),
        paths::SESSIONS.to_owned(),
        format!("{}?userId=bob", paths::SESSIONS),
        format!("{}?q=publish", paths::SEARCH),
    ];
    for asked in turns {
        let turn = format!("{of}/turns/{}", asked["TurnId"].as_str().unwrap());
        for rest in ["", "/summary", "/feedback", "/stream", "/payloads/instruction?inline=true"] {
            paths.push(format!("{turn}{rest}"));
        }
        paths.push(format!("{turn}/payloads/answer?inline=true"));
        let document = client.get(&format!("{of}/export?payloads=links")).await.json();
        let payloads = document["Turns"].as_array().unwrap().iter();
        let files = payloads.flat_map(|turn| turn["Payloads"].as_array().unwrap());
        let files = files.filter(|one| one["Kind"] == "file").map(|one| one["Url"].as_str().unwrap());
        paths.extend(files.map(|url| format!("/{url}?inline=true")));
    }
    let mut all = BTreeMap::new();
    for path in paths {
        let answer = client.get(&path).await;
        let tag = answer.header("etag").map(str::to_owned);
        let told = format!("{} {}", answer.status, answer.text);
        // What other sessions there are is no read of this one.
        all.insert(path, (told, tag));
    }
    all
}

#[tokio::test]
async fn exported_purged_imported_session_reads_byte_for_byte() {
    let environment =
        [("PURGE_RECHECK_SECONDS", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let sweep = Some(Duration::from_secs(1));
    let system = System::with(Options { environment: environment.into(), sweep, ..options() }).await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let turns = full(&system, "acme").await;
    let session = session_of(&turns[0]).to_owned();
    let document = text(&op, &turns[0]).await;
    let before = (reads(&ada, &session, &turns).await, reads(&op, &session, &turns).await);
    let replay = ada.execute(&turns[0]).await.text;

    ada.send(Method::DELETE, &format!("{}?purge=true", session_path(&turns[0])), None).await.result();
    let early = import(&op, &document, "").await;
    assert_eq!((early.status, early.error().as_str()), (409, "SessionDeleted"), "{}", early.text);
    let path = format!("{}/purge", session_path(&turns[0]));
    ada.until(&path, PATIENCE, |answer| answer.text.contains("\"State\":\"done\"")).await;
    assert_eq!(ada.get(&session_path(&turns[0])).await.status, 404);

    let imported = import(&op, &document, "").await.result();
    assert_eq!(
        imported,
        json!({"Sessions": [{"Id": session, "ExportedId": session, "TurnCount": turns.len()}]})
    );
    let after = (reads(&ada, &session, &turns).await, reads(&op, &session, &turns).await);
    for (before, after) in [(&before.0, &after.0), (&before.1, &after.1)] {
        for (path, told) in before {
            assert_eq!(Some(told), after.get(path), "{path}");
        }
    }
    assert_eq!(ada.execute(&turns[0]).await.text, replay, "a repeated request is a replay");
    // Once more changes nothing, and what it wrote is purged by nobody.
    assert_eq!(import(&op, &document, "").await.result(), imported);
    system.cloud.sweep().await.unwrap();
    assert_eq!(reads(&ada, &session, &turns).await, after.0);
    let of_import = |line: &Value| line["message"] == "audit" && line["action"] == "import";
    let audited = system.logged(Function::Execute, "audit", of_import).await;
    assert_eq!((audited.len(), &audited[0]["session"]), (1, &json!(session)));

    let next = turn_in(&session, "Go on");
    assert_eq!(ada.execute(&next).await.result()["Kind"], "final");
    system.until_finalized(&session, turns.len() + 1).await;
    let other = import(&op, &document, "").await;
    assert_eq!((other.status, other.error().as_str()), (409, "SessionIdConflict"));
}

#[tokio::test]
async fn session_imported_into_another_org_reads_the_same() {
    let system = System::start().await;
    let (ada, theirs) = (system.client("acme", "ada"), system.client("other", "ada"));
    let turns = full(&system, "acme").await;
    let session = session_of(&turns[0]).to_owned();
    let document = text(&operator(&system, "acme"), &turns[0]).await;
    import(&operator(&system, "other"), &document, "?ids=keep").await.result();
    let (before, after) = (reads(&ada, &session, &turns).await, reads(&theirs, &session, &turns).await);
    for (path, (told, _)) in &before {
        let token = |text: &str| {
            let mut value: Value = serde_json::from_str(text.split_once(' ').unwrap().1).unwrap_or_default();
            // Sealed for its caller.
            value["Result"].as_object_mut().and_then(|result| result.remove("ContinuationToken"));
            (text[..3].to_owned(), value)
        };
        let there = told.replace("\"acme\"", "\"other\"").replace("\"Acme\"", "\"Other\"");
        assert_eq!(token(&there), token(&after[path].0), "{path}");
    }
    assert!(system.objects().await.iter().any(|key| key.starts_with("other/")));
}

#[tokio::test]
async fn sessions_imported_under_new_ids_keep_their_references() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let turns = full(&system, "acme").await;
    let forked = id();
    fork(&ada, &turns[0], &json!({"SessionId": forked, "TurnId": turns[0]["TurnId"]})).await.result();
    let in_fork = turn_in(&forked, "Go on elsewhere");
    ada.execute(&in_fork).await.result();
    system.until_finalized(&forked, 1).await;
    let lines = format!("{}\n{}\n", text(&op, &turns[0]).await, text(&op, &in_fork).await);
    let imported = import(&op, &lines, "?ids=new").await.result();
    let new = |number: usize| imported["Sessions"][number]["Id"].as_str().unwrap().to_owned();
    assert_eq!(imported["Sessions"][1]["ExportedId"], forked);
    assert!(new(0) != session_of(&turns[0]) && new(1) != forked && new(0) != new(1));
    assert_eq!(import(&op, &lines, "?ids=new").await.result(), imported, "the same import makes no others");

    let read = ada.get(&paths::SESSION.fill(&new(1).parse().unwrap())).await.result();
    assert_eq!(read["ForkedFrom"], json!({"SessionId": new(0), "TurnId": turns[0]["TurnId"]}));
    let one = async |session: &str| {
        let session: Value = json!({"SessionId": session});
        exported(&ada, &session, "").await
    };
    let mut old = one(session_of(&turns[0])).await;
    let mut renewed = one(&new(0)).await;
    // The texts name the session, so their sizes and hashes are others.
    for document in [&mut old, &mut renewed] {
        for turn in document["Turns"].as_array_mut().unwrap() {
            for payload in turn["Payloads"].as_array_mut().unwrap() {
                payload["Sha256"] = json!("");
            }
        }
    }
    let told = old.to_string().replace(session_of(&turns[0]), &new(0));
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), renewed);
    // Both go on: the fork tells what it shares with the other.
    for session in [new(0), new(1)] {
        let next = turn_in(&session, "And here?");
        assert_eq!(ada.execute(&next).await.result()["Kind"], "final");
    }
}

#[tokio::test]
async fn imported_session_counts_the_feedback_of_its_document() {
    let system = System::start().await;
    let turns = full(&system, "acme").await;
    let document = exported(&operator(&system, "acme"), &turns[0], "").await;
    let (op, theirs) = (operator(&system, "other"), system.client("other", "ada"));
    let stored = document["Stored"].as_array().unwrap();
    let position = |start: &str| {
        stored.iter().position(|item| item["Key"].as_str().unwrap().starts_with(start)).unwrap()
    };
    let (session, feedback) = (position("SESSION"), position("FEEDBACK#"));
    // One from before sessions had sums, one whose sums are older than its feedback, and the document as it is.
    for (number, change) in [json!(null), json!(99), stored[session]["RatingSum"].clone()].iter().enumerate()
    {
        let mut changed: Value = serde_json::from_str(&with_id(&document, &format!("copy{number}"))).unwrap();
        if change.is_null() {
            for (item, names) in [(session, ["RatingCount", "RatingSum"]), (feedback, ["CountedRating", "-"])]
            {
                let item = changed["Stored"][item].as_object_mut().unwrap();
                names.iter().for_each(|name| drop(item.remove(*name)));
            }
        } else {
            changed["Stored"][session]["RatingSum"] = change.clone();
        }
        import(&op, &changed.to_string(), "").await.result();
        let copy = json!({"SessionId": format!("copy{number}"), "TurnId": turns[0]["TurnId"]});
        let read = theirs.get(&session_path(&copy)).await.result();
        let expected = json!({"Count": 2, "Mean": 3.5});
        assert_eq!((&read["Ratings"], &read["Category"]), (&expected, &json!("docs")));
        let rating = json!({"Rating": 3}).to_string();
        let feedback = format!("{}/feedback", turn_path(&copy));
        theirs.send(Method::PUT, &feedback, Some(rating)).await.result();
        let read = theirs.get(&session_path(&copy)).await.result();
        assert_eq!(read["Ratings"], json!({"Count": 2, "Mean": 2.5}), "ada's own rating was 5");
    }
}

#[tokio::test]
async fn invalid_import_is_refused_by_name_and_leaves_no_trace() {
    let system = System::start().await;
    let (ada, op, other) =
        (system.client("acme", "ada"), operator(&system, "acme"), operator(&system, "other"));
    let turns = full(&system, "acme").await;
    let document: Value = exported(&op, &turns[0], "").await;
    let before = (system.items().await.len(), system.objects().await.len());
    let refused = async |change: &dyn Fn(&mut Value), at: &str, rule: &str| {
        let mut changed = document.clone();
        change(&mut changed);
        let answer = import(&other, &changed.to_string(), "").await;
        assert_eq!(answer.status, 400, "{rule}: {}", answer.text);
        assert_eq!(answer.errors()[0]["Details"], at, "{}", answer.text);
        assert!(answer.text.contains(rule), "{}", answer.text);
    };
    refused(&|all| all["Format"] = json!("aptix-export/2"), "[0].Format", "aptix-export/1").await;
    refused(&|all| all["Colour"] = json!("red"), "[0]", "unknown field `Colour`").await;
    refused(&|all| all["Turns"][0]["Payloads"][0]["Colour"] = json!(1), "[0]", "unknown field").await;
    refused(&|all| drop(all.as_object_mut().unwrap().remove("Stored")), "[0].Stored", "payloads=inline")
        .await;
    refused(&|all| all["Stored"][0]["Colour"] = json!("red"), "[0].Stored[0]", "not known: Colour").await;
    refused(&|all| all["Stored"][0]["V"] = json!(99), "[0].Stored[0]", "newer version").await;
    refused(&|all| all["Stored"][0]["Key"] = json!("OTHER"), "[0].Stored[0]", "Key").await;
    refused(&|all| all["Stored"][0]["PK"] = json!("O#acme#S#s"), "[0].Stored[0]", "not known: PK").await;
    let payload = "[0].Turns[0].Payloads[0]";
    let of_payload = |name: &'static str, value: Value| {
        move |all: &mut Value| all["Turns"][0]["Payloads"][0][name] = value.clone()
    };
    refused(&of_payload("Text", json!("x")), &format!("{payload}.SizeBytes"), "does not match").await;
    refused(&of_payload("Sha256", json!("0".repeat(64))), &format!("{payload}.Sha256"), "not the hash").await;
    refused(&of_payload("Object", json!("../x")), &format!("{payload}.Object"), "not an object").await;
    let files = document["Turns"][0]["Payloads"].as_array().unwrap();
    let file = files.iter().position(|payload| payload["Kind"] == "file").unwrap();
    let at_file = format!("[0].Turns[0].Payloads[{file}]");
    let of_file = |name: &'static str, value: Value| {
        move |all: &mut Value| all["Turns"][0]["Payloads"][file][name] = value.clone()
    };
    let long = "x".repeat(100_000);
    for media_type in ["text/plain\r\nX-Y: z", "text", &format!("text/{long}")] {
        let change = of_file("MimeType", json!(media_type));
        refused(&change, &format!("{at_file}.MimeType"), "must be a media type").await;
    }
    let object = files[file]["Object"].as_str().unwrap();
    let renamed = format!("{}/{}", object.rsplit_once('/').unwrap().0, "x".repeat(1_500));
    let change = of_file("Object", json!(renamed));
    refused(&change, &format!("{at_file}.Object"), "is not an object of this turn").await;
    let twice = |all: &mut Value| {
        let payloads = all["Turns"][0]["Payloads"].as_array_mut().unwrap();
        payloads.push(payloads[0].clone());
    };
    let last = format!("[0].Turns[0].Payloads[{}].Object", files.len());
    refused(&twice, &last, "is the object of an earlier payload too").await;
    let stored = document["Stored"].as_array().unwrap();
    let session = stored.iter().position(|item| item["Key"] == "SESSION").unwrap();
    let change = |all: &mut Value| all["Stored"][session]["Name"] = json!("x".repeat(250_000));
    refused(&change, &format!("[0].Stored[{session}].Name"), "at most 256 are allowed").await;
    let twice = |all: &mut Value| {
        let items = all["Stored"].as_array_mut().unwrap();
        items.push(items[0].clone());
    };
    refused(&twice, &format!("[0].Stored[{}].Key", stored.len()), "is the Key of Stored[0] too").await;
    for query in ["", "?ids=new"] {
        let both = import(&other, &format!("{document}\n{document}"), query).await;
        assert_eq!(both.status, 400, "{}", both.text);
        assert_eq!(both.errors()[0]["Details"], "[1].Session.Id", "{}", both.text);
    }
    let change = |all: &mut Value| all["Stored"][session]["Category"] = json!("x".repeat(129));
    refused(&change, &format!("[0].Stored[{session}].Category"), "at most 128 are allowed").await;
    let feedback =
        stored.iter().position(|item| item["Key"].as_str().unwrap().starts_with("FEEDBACK#")).unwrap();
    let change = |all: &mut Value| all["Stored"][feedback]["Rating"] = json!(200);
    refused(&change, &format!("[0].Stored[{feedback}].Rating"), "from 1 to 5").await;
    let without_last = |all: &mut Value| drop(all["Turns"].as_array_mut().unwrap().pop());
    refused(&without_last, "[0].Turns", "lacks the instruction.json").await;
    let is_head = |item: &Value| item["Key"].as_str().unwrap().starts_with("TURN#");
    let without_turns = |all: &mut Value| all["Stored"].as_array_mut().unwrap().retain(|item| !is_head(item));
    refused(&without_turns, "[0].Stored", "has not the turns").await;

    let links = exported(&op, &turns[0], "?payloads=links").await;
    let of_links = import(&other, &links.to_string(), "").await;
    assert_eq!((of_links.status, of_links.error().as_str()), (400, "MemberInvalid"));
    let mine = import(&ada, &document.to_string(), "").await;
    assert_eq!((mine.status, mine.error().as_str()), (403, "Forbidden"));
    for (body, status, code) in [("", 400, "BodyMissing"), ("{", 400, "BodyNotJson")] {
        let answer = import(&other, body, "").await;
        assert_eq!((answer.status, answer.error().as_str()), (status, code));
    }
    let plain = [("content-type", "text/plain")];
    let answer = other.raw(Method::POST, paths::IMPORT, &plain, b"{}".to_vec()).await;
    assert_eq!((answer.status, answer.error().as_str()), (415, "UnsupportedMediaType"));
    assert_eq!((system.items().await.len(), system.objects().await.len()), before);

    let open =
        workspace_turn("Wait [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]");
    ada.execute(&open).await.result();
    let answer = import(&other, &text(&op, &open).await, "").await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("which is not over"), "{}", answer.text);
    // What is there and another session is in nobody's way.
    import(&other, &document.to_string(), "").await.result();
    let theirs = turn_in(session_of(&turns[0]), "Go on there");
    system.client("other", "ada").execute(&theirs).await.result();
    let answer = import(&other, &document.to_string(), "").await;
    assert_eq!((answer.status, answer.error().as_str()), (409, "SessionIdConflict"));
    assert_eq!(ada.get(&turn_path(&theirs)).await.status, 404);
}

#[tokio::test]
async fn interrupted_import_is_invisible_and_resumes_when_resent() {
    let system = System::start().await;
    let op = operator(&system, "acme");
    let turns = full(&system, "acme").await;
    let document = exported(&op, &turns[0], "").await;
    // Many sessions of other ids, so that there is a middle in which to die.
    let ids: Vec<String> = (0..20).map(|number| format!("copy{number}")).collect();
    let lines: Vec<String> = ids.iter().map(|new| with_id(&document, new)).collect();
    let body = lines.join("\n");
    let other = operator(&system, "other");
    let sent = import(&other, &body, "");
    let crash = async {
        let first = |item: &std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>| {
            item["PK"].as_s().is_ok_and(|key| key.starts_with("O#other#S#"))
        };
        system.until_item(first).await;
        system.cloud.crash(Function::Execute);
    };
    let (broken, ()) = futures::join!(sent, crash);
    println!("broken: {}", broken.status);
    let theirs = system.client("other", "ada");
    let mut whole = 0;
    for one in &ids {
        let read = theirs.get(&paths::SESSION.fill(&one.parse().unwrap())).await;
        if read.status == 200 {
            assert_eq!(read.result()["Turns"].as_array().unwrap().len(), turns.len(), "whole or not at all");
            whole += 1;
        } else {
            assert_eq!(read.status, 404);
        }
    }
    println!("{whole} of {} were whole", ids.len());
    let listed = theirs.get(&format!("{}?includeDeleted=true", paths::SESSIONS)).await.result();
    assert_eq!(listed["Items"].as_array().unwrap().len(), whole);
    let again = import(&other, &body, "").await.result();
    assert_eq!(again["Sessions"].as_array().unwrap().len(), ids.len());
    for one in &ids {
        let read = theirs.get(&paths::SESSION.fill(&one.parse().unwrap())).await.result();
        assert_eq!(read["TurnCount"], turns.len());
    }
}

#[tokio::test]
async fn imported_copy_leaves_provider_responses_of_original_alone() {
    let environment = [("PURGE_RECHECK_SECONDS".to_owned(), "1".to_owned())].into();
    let sweep = Some(Duration::from_secs(1));
    let system = System::with(Options { environment, sweep, ..options() }).await;
    let (ada, theirs) = (system.client("acme", "ada"), system.client("other", "ada"));
    let (op, other) = (operator(&system, "acme"), operator(&system, "other"));
    let first = turn("What is a lease?");
    let session = session_of(&first);
    let second = turn_in(session, "And a fence?");
    for asked in [&first, &second] {
        ada.execute(asked).await.result();
    }
    system.until_finalized(session, 2).await;
    let document = text(&op, &first).await;
    import(&other, &document, "").await.result();
    let id = async |client: &Client, of: &Value| {
        client.get(&turn_path(of)).await.result()["OpenAIResponseId"].as_str().unwrap().to_owned()
    };
    assert_eq!(id(&op, &second).await, id(&other, &second).await, "it is shown as it was");

    // The copy goes on with its history, and names no response of the original.
    let (next, again) = (turn_in(session, "Go on there"), json!({"TurnId": crate::support::id()}));
    theirs.execute(&next).await.result();
    theirs.post(&format!("{}/rerun", turn_path(&second)), again.to_string()).await.result();
    let calls = system.model_calls();
    assert!(calls[calls.len() - 2..].iter().all(|call| !is_chained(call)), "{calls:#?}");
    system.until_finalized(session, 4).await;
    let again = json!({"SessionId": session, "TurnId": again["TurnId"]});
    let own = BTreeSet::from([id(&other, &next).await, id(&other, &again).await]);

    theirs.send(Method::DELETE, &format!("{}?purge=true", session_path(&first)), None).await.result();
    let path = format!("{}/purge", session_path(&first));
    theirs.until(&path, PATIENCE, |answer| answer.text.contains("\"State\":\"done\"")).await;
    let removed: BTreeSet<String> = system.cloud.model().unwrap().removals().into_iter().collect();
    assert_eq!(removed, own, "only the responses of the copy's own turns");
    ada.execute(&turn_in(session, "Go on here")).await.result();
    assert!(is_chained(system.model_calls().last().unwrap()));
}

#[tokio::test]
async fn identical_imports_at_once_are_one_import() {
    let system = System::start().await;
    let (ada, theirs) = (system.client("acme", "ada"), system.client("other", "ada"));
    let (op, other) = (operator(&system, "acme"), operator(&system, "other"));
    // Nothing finalizes its turn: the import brings a settled one.
    system.cloud.pause_finalizer().await;
    let asked = turn("What is a lease?");
    ada.execute(&asked).await.result();
    let document = text(&op, &asked).await;
    let sent: Vec<_> = (0..8).map(|_| import(&other, &document, "")).collect();
    for answer in futures::future::join_all(sent).await {
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let session = session_of(&asked);
    let next = turn_in(session, "Go on");
    assert_eq!(theirs.execute(&next).await.result()["Kind"], "final");
    system.cloud.resume_finalizer().await;
    system.until_finalized(session, 2).await;
    let read = theirs.get(&session_path(&asked)).await.result();
    assert_eq!((&read["TurnCount"], read["Turns"].as_array().unwrap().len()), (&json!(2), 2));
    let tokens = |usage: &Value| usage["TotalTokens"].as_u64().unwrap();
    let turns: u64 = read["Turns"].as_array().unwrap().iter().map(|turn| tokens(&turn["Usage"])).sum();
    assert_eq!(tokens(&read["TotalUsage"]), turns, "each turn is counted once");
}

/// The same document of a session of another id.
fn with_id(document: &Value, new: &str) -> String {
    let mut changed = document.clone();
    changed["Session"]["Id"] = json!(new);
    for item in changed["Stored"].as_array_mut().unwrap() {
        if let Some(session) = item.pointer_mut("/Solution/Session") {
            *session = json!(new);
        }
    }
    changed.to_string()
}
