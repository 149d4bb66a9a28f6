//! `PATCH` and `DELETE …/sessions/{SessionId}`, and `POST …/restore`.

use contracts::paths;
use local::{Function, Options, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client_tools::{results, submit};
use crate::support::{
    Answer, Client, LEASE, System, options, session_path, turn, turn_in, turn_path, workspace_turn,
};

const ASKS: &str = "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";

pub async fn edit(client: &Client, turn: &Value, edit: Value) -> Answer {
    client.send(Method::PATCH, &session_path(turn), Some(edit.to_string())).await
}

pub async fn delete(client: &Client, turn: &Value) -> Answer {
    client.send(Method::DELETE, &session_path(turn), None).await
}

pub async fn restore(client: &Client, turn: &Value) -> Answer {
    client.post(&format!("{}/restore", session_path(turn)), String::new()).await
}

pub fn session_of(turn: &Value) -> &str {
    turn["SessionId"].as_str().unwrap()
}

fn operator(system: &System) -> Client {
    system.identified(&Identity { operator: true, ..Identity::user("acme", "op") })
}

async fn listed(client: &Client, query: &str) -> Vec<String> {
    let page = client.get(&format!("{}{query}", paths::SESSIONS)).await.result();
    page["Items"].as_array().unwrap().iter().map(|item| item["Id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn viewer_can_rename_and_describe_session_everywhere() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let request = turn("first words");
    ada.execute(&request).await.result();
    let before = ada.get(&session_path(&request)).await.result();
    assert_eq!((&before["Name"], &before["Visibility"]), (&json!("first words"), &json!("org")));

    let told =
        edit(&bob, &request, json!({"name": " Leases ", "Description": "Why they end"})).await.result();
    let read = ada.get(&session_path(&request)).await.result();
    let summary = ada.get(paths::SESSIONS).await.result()["Items"][0].clone();
    for shown in [&told, &read, &summary] {
        assert_eq!((&shown["Name"], &shown["Description"]), (&json!("Leases"), &json!("Why they end")));
    }
    assert!(read["LastUpdatedDate"].as_str() > before["LastUpdatedDate"].as_str());

    let removed = edit(&ada, &request, json!({"Description": ""})).await.result();
    assert_eq!((&removed["Name"], removed.get("Description")), (&json!("Leases"), None));
    // The next turn leaves both as they are.
    ada.execute(&turn_in(session_of(&request), "go on")).await.result();
    assert_eq!(ada.get(&session_path(&request)).await.result()["Name"], "Leases");
}

#[tokio::test]
async fn session_is_named_after_first_telling_line_of_instruction() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Hello!\n\n## Why does the `retry` wait twice?\n\n```rust\nretry()\n```");
    ada.execute(&request).await.result();
    let session = ada.get(&session_path(&request)).await.result();
    assert_eq!(session["Name"], "Why does the retry wait twice?");
}

#[tokio::test]
async fn invalid_change_is_refused_by_name_and_changes_nothing() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("first words");
    ada.execute(&request).await.result();
    for (body, code, about) in [
        (json!({}), "MemberRequired", "Name, Description, Category, Visibility"),
        (json!({"Name": null}), "MemberRequired", "Name, Description, Category, Visibility"),
        (json!({"Name": " "}), "MemberInvalid", "Name"),
        (json!({"Name": "a\nb"}), "MemberInvalid", "Name"),
        (json!({"Name": "x".repeat(257)}), "MemberTooLarge", "Name"),
        (json!({"Description": "x".repeat(1_025)}), "MemberTooLarge", "Description"),
        (json!({"Category": "two\nlines"}), "MemberInvalid", "Category"),
        (json!({"Category": "x".repeat(129)}), "MemberTooLarge", "Category"),
        (json!({"Category": {"Id": "billing"}}), "MemberInvalid", "Category"),
        (json!({"Visibility": "public"}), "MemberInvalid", "org, participants"),
        (json!({"Name": "ok", "Colour": "red"}), "MemberUnknown", "Colour"),
        (json!({"Name": "ok", "name": "ok"}), "MemberDuplicated", "Name"),
    ] {
        let refused = edit(&ada, &request, body.clone()).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, code), "{body}");
        assert!(refused.text.contains(about), "{body}: {}", refused.text);
    }
    let text = [("content-type", "text/plain")];
    let refused = ada.raw(Method::PATCH, &session_path(&request), &text, b"Leases".to_vec()).await;
    assert_eq!((refused.status, refused.error().as_str()), (415, "UnsupportedMediaType"));
    assert_eq!(ada.get(&session_path(&request)).await.result()["Name"], "first words");
}

#[tokio::test]
async fn category_is_shown_filtered_forked_and_removed() {
    let system = System::start().await;
    let (ada, bob, eve) =
        (system.client("acme", "ada"), system.client("acme", "bob"), system.client("rival", "eve"));
    let (request, other) = (turn("first words"), turn("first words elsewhere"));
    ada.execute(&request).await.result();
    ada.execute(&other).await.result();
    assert_eq!(ada.get(&session_path(&request)).await.result().get("Category"), None);

    let told = edit(&bob, &request, json!({"Category": " Billing & tax "})).await.result();
    let read = ada.get(&session_path(&request)).await.result();
    for shown in [&told, &read] {
        assert_eq!((&shown["Category"], &shown["Name"]), (&json!("Billing & tax"), &json!("first words")));
    }
    let one = "category=Billing%20%26%20tax";
    let session = session_of(&request);
    let listed_one = ada.get(&format!("{}?{one}", paths::SESSIONS)).await.result();
    assert_eq!((&listed_one["Items"][0], listed_one["Items"].as_array().unwrap().len()), (&told, 1));
    for (query, expected) in [
        ("?category=billing%20%26%20tax", vec![]),
        ("?category=Billing", vec![]),
        (&format!("?mode=workflow_authoring&{one}"), vec![]),
        (&format!("?userId=ada&pageSize=1&{one}"), vec![session]),
    ] {
        assert_eq!(listed(&ada, query).await, expected, "{query}");
    }
    assert_eq!(listed(&ada, "?category=").await.len(), 2, "an empty filter is none");
    assert!(listed(&eve, &format!("?{one}")).await.is_empty());
    let found = ada.get(&format!("{}?q=words&{one}", paths::SEARCH)).await.result();
    assert_eq!((&found["Items"][0]["Session"], found["Items"].as_array().unwrap().len()), (&told, 1));

    // A fork goes on in its source's category, and the next turn leaves it as it is.
    let fork = json!({"SessionId": crate::support::id(), "TurnId": request["TurnId"]});
    let forked = bob.post(&format!("{}/fork", session_path(&request)), fork.to_string()).await.result();
    assert_eq!(forked["Category"], "Billing & tax");
    ada.execute(&turn_in(session, "go on")).await.result();
    assert_eq!(edit(&ada, &request, json!({"Name": "Leases"})).await.result()["Category"], "Billing & tax");

    let removed = edit(&ada, &request, json!({"Category": " "})).await.result();
    assert_eq!(removed.get("Category"), None);
    assert_eq!(listed(&ada, &format!("?{one}")).await, [fork["SessionId"].as_str().unwrap()]);
}

#[tokio::test]
async fn only_owner_and_operators_change_visibility_or_delete() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let request = turn("first words");
    ada.execute(&request).await.result();
    bob.execute(&turn_in(session_of(&request), "from bob")).await.result();
    for refused in [
        edit(&bob, &request, json!({"Visibility": "participants"})).await,
        delete(&bob, &request).await,
        restore(&bob, &request).await,
    ] {
        assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"), "{}", refused.text);
    }
    let op = operator(&system);
    assert_eq!(
        edit(&op, &request, json!({"Visibility": "participants"})).await.result()["Visibility"],
        "participants"
    );
    assert_eq!(delete(&op, &request).await.result()["IsDeleted"], true);
    assert_eq!(restore(&op, &request).await.result()["IsDeleted"], false);
}

#[tokio::test]
async fn deleted_session_refuses_turns_and_is_read_by_participants_only() {
    let system = System::start().await;
    let (ada, bob, eve) =
        (system.client("acme", "ada"), system.client("acme", "bob"), system.client("acme", "eve"));
    let request = turn("first words");
    let answer = ada.execute(&request).await;
    bob.execute(&turn_in(session_of(&request), "from bob")).await.result();
    let kept = turn("kept");
    ada.execute(&kept).await.result();

    let told = delete(&ada, &request).await.result();
    assert_eq!(told["IsDeleted"], true);
    assert!(told["KeptUntilDate"].as_str() > told["DeletedDate"].as_str(), "{told}");
    assert_eq!(delete(&ada, &request).await.result(), told, "a second time changes nothing");

    let refused = ada.execute(&turn_in(session_of(&request), "more")).await;
    assert_eq!((refused.status, refused.error().as_str()), (409, "SessionDeleted"));
    let refused = edit(&ada, &request, json!({"Name": "New"})).await;
    assert_eq!((refused.status, refused.error().as_str()), (409, "SessionDeleted"));
    assert_eq!(ada.execute(&request).await.text, answer.text, "what came before is replayed");
    let again = json!({"TurnId": crate::support::id()}).to_string();
    let fork = json!({"SessionId": crate::support::id(), "TurnId": request["TurnId"]}).to_string();
    for refused in [
        ada.post(&format!("{}/rerun", turn_path(&request)), again).await,
        ada.post(&format!("{}/fork", session_path(&request)), fork).await,
    ] {
        assert_eq!((refused.status, refused.error().as_str()), (409, "SessionDeleted"), "{}", refused.text);
    }

    for client in [&ada, &bob] {
        let read = client.get(&session_path(&request)).await.result();
        assert_eq!((&read["IsDeleted"], &read["TurnCount"]), (&json!(true), &json!(2)));
        assert_eq!(client.get(&turn_path(&request)).await.status, 200);
        assert_eq!(listed(client, "").await, [session_of(&kept)]);
        let both = listed(client, "?includeDeleted=true").await;
        assert_eq!(both.len(), 2, "{both:?}");
    }
    assert_eq!(eve.get(&session_path(&request)).await.status, 404, "she took no part");
    assert_eq!(listed(&eve, "?includeDeleted=true").await, [session_of(&kept)]);

    assert_eq!(restore(&ada, &request).await.result()["IsDeleted"], false);
    assert_eq!(ada.execute(&turn_in(session_of(&request), "more")).await.result()["Kind"], "final");
    assert_eq!(eve.get(&session_path(&request)).await.status, 200);
    assert_eq!(listed(&ada, "").await.len(), 2);
}

#[tokio::test]
async fn delete_ends_the_running_turn_and_names_who_deleted() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let slow = turn("Take your time [[script: delay 20s]]");
    let deleted = async {
        system.model_called(1).await;
        delete(&ada, &slow).await.result()
    };
    let (running, deleted) = futures::join!(ada.execute(&slow), deleted);
    assert_eq!((running.status, running.error().as_str()), (409, "TurnCancelled"));
    assert_eq!(deleted["IsDeleted"], true);
    let read = ada.get(&turn_path(&slow)).await.result();
    assert_eq!((&read["Status"]["Id"], &read["CancelledByUserId"]), (&json!("failed"), &json!("ada")));
    let head = format!("TURN#{}", slow["TurnId"].as_str().unwrap());
    system.until_attribute(&head, "Status", "failed").await;
    assert_eq!(
        ada.get(&session_path(&slow)).await.result()["IsDeleted"],
        true,
        "the finalizer undoes nothing"
    );
}

#[tokio::test]
async fn delete_ends_turn_awaiting_results_and_refuses_them() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(ASKS);
    let waits = ada.execute(&request).await.result();
    delete(&ada, &request).await.result();
    let late = submit(&ada, &results(&waits, "contents")).await;
    assert_eq!((late.status, late.error().as_str()), (409, "SessionDeleted"));
    assert_eq!(system.model_calls().len(), 1);
    // Restored, the turn stays ended and the session goes on.
    restore(&ada, &request).await.result();
    let late = submit(&ada, &results(&waits, "contents")).await;
    assert_eq!((late.status, late.error().as_str()), (409, "TurnCancelled"));
    assert_eq!(ada.execute(&turn_in(session_of(&request), "go on")).await.result()["Kind"], "final");
}

#[tokio::test]
async fn reads_show_who_cancelled_a_turn() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let request = workspace_turn(ASKS);
    ada.execute(&request).await.result();
    crate::cancel::cancel(&bob, &request).await;
    assert_eq!(ada.get(&turn_path(&request)).await.result()["CancelledByUserId"], "bob");
    // The next turn makes it terminal, and that stays.
    ada.execute(&turn_in(session_of(&request), "go on")).await.result();
    assert_eq!(ada.get(&turn_path(&request)).await.result()["CancelledByUserId"], "bob");
    let other = turn("done");
    ada.execute(&other).await.result();
    assert!(ada.get(&turn_path(&other)).await.result().get("CancelledByUserId").is_none());
}

#[tokio::test]
async fn access_by_others_is_audited_in_the_log() {
    let system = System::start().await;
    let (ada, bob, op) = (system.client("acme", "ada"), system.client("acme", "bob"), operator(&system));
    let request = workspace_turn(ASKS);
    ada.execute(&request).await.result();
    ada.get(&session_path(&request)).await.result();
    bob.get(&turn_path(&request)).await.result();
    op.get(&session_path(&request)).await.result();
    let of_session = |line: &Value| line["message"] == "audit" && line["session"] == request["SessionId"];
    let reads = system.logged(Function::SessionRead, "audit", of_session).await;
    let told = |line: &Value| {
        let of = |name: &str| line[name].clone();
        (of("user"), of("action"), of("operator"), of("participant"))
    };
    let expected = [
        (json!("bob"), json!("read"), json!(false), json!(false)),
        (json!("op"), json!("read"), json!(true), json!(false)),
    ];
    let reads: Vec<_> = reads.iter().map(told).collect();
    assert_eq!(reads, expected, "those of the session's own participants are nobody's business");

    crate::cancel::cancel(&bob, &request).await;
    delete(&ada, &request).await.result();
    restore(&op, &request).await.result();
    let of_restore = |line: &Value| of_session(line) && line["action"] == "restore";
    system.logged(Function::Execute, "audit", of_restore).await;
    let writes: Vec<_> =
        system.log(Function::Execute).iter().filter(|line| of_session(line)).map(told).collect();
    let write = |user: &str, action: &str, operator, participant| {
        (json!(user), json!(action), json!(operator), json!(participant))
    };
    let without_reads: Vec<_> = writes.into_iter().filter(|line| line.1 != "read").collect();
    assert_eq!(
        without_reads,
        [
            write("bob", "cancel", false, false),
            write("ada", "delete", false, true),
            write("op", "restore", true, false),
        ]
    );
}

#[tokio::test]
async fn foreign_and_unknown_sessions_get_the_same_404_on_every_change() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let request = turn("our secret");
    ada.execute(&request).await.result();
    let unknown = turn("never sent");
    for (method, path, body) in [
        (Method::PATCH, "", Some(json!({"Name": "theirs"}).to_string())),
        (Method::DELETE, "", None),
        (Method::POST, "/restore", None),
    ] {
        let call = async |client: &Client, turn: &Value| {
            client.send(method.clone(), &format!("{}{path}", session_path(turn)), body.clone()).await
        };
        let (foreign, nobody) = (call(&eve, &request).await, call(&ada, &unknown).await);
        assert_eq!((foreign.status, foreign.error().as_str()), (404, "SessionNotFound"), "{method} {path}");
        assert_eq!(foreign.text, nobody.text, "{method} {path}");
    }
    assert_eq!(ada.get(&session_path(&request)).await.result()["IsDeleted"], false);
}
