//! Sessions that are private to their participants: to everybody else there is no such session.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::paths::{EXECUTE, SESSIONS};
use local::{Options, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client_tools::{results, submit};
use crate::session_edits::{delete, edit, restore, session_of};
use crate::support::{
    Answer, Client, System, id, is_chained, options, session_path, turn, turn_in, turn_path, with_workspace,
};

const ASKS: &str = "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";

/// The same request about a session and a turn that nobody ever sent.
fn unknown(text: &str, request: &Value) -> String {
    text.replace(session_of(request), "0123456789abcdef0123456789abcdef")
}

async fn private(client: &Client, instruction: &str) -> Value {
    let request = with_workspace(turn(instruction));
    client.execute(&request).await.result();
    edit(client, &request, json!({"Visibility": "participants"})).await.result();
    request
}

#[tokio::test]
async fn private_session_reads_are_404_for_other_org_members() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let file = json!({
        "name": "a.txt", "media_type": "text/plain", "contents": "text", "encoding": "utf8", "description": null,
    });
    let script = format!("Publish [[script: call publish_file {file}; then; say \"Done.\"]]");
    let request = turn(&script);
    let answer = ada.execute(&request).await.result();
    edit(&ada, &request, json!({"Visibility": "participants"})).await.result();
    let file = format!("/{}", answer["Files"][0]["Url"].as_str().unwrap().trim_start_matches('/'));
    for path in [
        session_path(&request),
        format!("{}/mode-history", session_path(&request)),
        format!("{}/turns", session_path(&request)),
        format!("{}/turns/last?status=completed", session_path(&request)),
        format!("{}/turns/last", session_path(&request)),
        turn_path(&request),
        format!("{}/summary", turn_path(&request)),
        format!("{}/feedback", turn_path(&request)),
        format!("{}/stream", turn_path(&request)),
        format!("{}/payloads/instruction", turn_path(&request)),
        format!("{}/payloads/answer", turn_path(&request)),
        file,
    ] {
        let own = ada.get(&path).await;
        assert!(own.status < 400, "{path}: {}", own.text);
        let (hidden, nobody) = (eve.get(&path).await, eve.get(&unknown(&path, &request)).await);
        assert_eq!(hidden.status, 404, "{path}: {}", hidden.text);
        assert_eq!(hidden.text, nobody.text, "{path}");
    }
}

#[tokio::test]
async fn private_session_writes_are_404_for_other_org_members() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let request = private(&ada, ASKS).await;
    let waits = ada.execute(&request).await.result();
    let same = |hidden: Answer, nobody: Answer, code: &str| {
        assert_eq!((hidden.status, hidden.error().as_str()), (404, code), "{}", hidden.text);
        assert_eq!(hidden.text, nobody.text);
    };
    let rights = results(&waits, "contents");
    let nobodys: Value = serde_json::from_str(&unknown(&rights.to_string(), &request)).unwrap();
    same(submit(&eve, &rights).await, submit(&eve, &nobodys).await, "TurnNotFound");
    let by_execute = eve.post(EXECUTE, rights.to_string()).await;
    same(by_execute, eve.post(EXECUTE, nobodys.to_string()).await, "TurnNotFound");
    for (method, path, body, code) in [
        (Method::POST, format!("{}/cancel", turn_path(&request)), None, "TurnNotFound"),
        (
            Method::PUT,
            format!("{}/feedback", turn_path(&request)),
            Some(json!({"Rating": 1}).to_string()),
            "TurnNotFound",
        ),
        (Method::PATCH, session_path(&request), Some(json!({"Name": "mine"}).to_string()), "SessionNotFound"),
        (Method::DELETE, session_path(&request), None, "SessionNotFound"),
        (Method::POST, format!("{}/restore", session_path(&request)), None, "SessionNotFound"),
        (
            Method::POST,
            format!("{}/rerun", turn_path(&request)),
            Some(json!({"TurnId": "again"}).to_string()),
            "TurnNotFound",
        ),
        (
            Method::POST,
            format!("{}/fork", session_path(&request)),
            Some(json!({"SessionId": "mine", "TurnId": request["TurnId"]}).to_string()),
            "SessionNotFound",
        ),
    ] {
        let hidden = eve.send(method.clone(), &path, body.clone()).await;
        same(hidden, eve.send(method, &unknown(&path, &request), body).await, code);
    }
    // A fork onto its id is answered as one of an unknown session.
    let own = turn("mine");
    eve.execute(&own).await.result();
    let onto = json!({"SessionId": session_of(&request), "TurnId": own["TurnId"]}).to_string();
    let hidden = eve.post(&format!("{}/fork", session_path(&own)), onto.clone()).await;
    let nobody = eve.post(&unknown(&format!("{}/fork", session_path(&request)), &request), onto).await;
    same(hidden, nobody, "SessionNotFound");
    // A turn of one's own, and the very turn that is there: neither tells that anything is.
    let calls = system.model_calls().len();
    let own = eve.execute(&turn_in(session_of(&request), "let me in")).await;
    same(own, eve.execute(&request).await, "SessionNotFound");
    assert_eq!(system.model_calls().len(), calls);
    assert_eq!(submit(&ada, &rights).await.result()["Kind"], "final", "nothing was touched");
}

/// Forks a session at its newest turn, and takes a turn in the fork.
async fn forked(system: &System, client: &Client, of: &Value) -> Value {
    let own = turn("The fork's own words");
    let body = json!({"SessionId": own["SessionId"], "TurnId": of["TurnId"]}).to_string();
    client.post(&format!("{}/fork", session_path(of)), body).await.result();
    client.execute(&own).await.result();
    assert!(is_chained(&system.last_call()), "it tells the session that it was forked from");
    own
}

#[tokio::test]
async fn fork_of_hidden_session_stops_telling_it_to_those_who_may_not_see_it() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    for deletes in [false, true] {
        let origin = turn("The origin's secret");
        ada.execute(&origin).await.result();
        let (own, of_ada) = (forked(&system, &eve, &origin).await, forked(&system, &ada, &origin).await);
        let untouched = json!({"SessionId": id(), "TurnId": origin["TurnId"]});
        eve.post(&format!("{}/fork", session_path(&origin)), untouched.to_string()).await.result();
        match deletes {
            true => drop(delete(&ada, &origin).await.result()),
            false => drop(edit(&ada, &origin, json!({"Visibility": "participants"})).await.result()),
        }
        for (session, tells_own) in [(session_of(&own), true), (session_of(&untouched), false)] {
            let answer = eve.execute(&turn_in(session, "Goes on")).await.result();
            let warnings = answer["UserWarnings"].to_string();
            assert!(warnings.contains("You can't see the session"), "{warnings}");
            assert_eq!(answer["UserWarnings"].as_array().unwrap().len(), 1, "{warnings}");
            let call = system.last_call();
            assert!(!is_chained(&call) && !call.to_string().contains("secret"), "{call}");
            assert_eq!(call.to_string().contains("The fork's own words"), tells_own, "{call}");
            let again = eve.execute(&turn_in(session, "And on")).await.result();
            assert!(again.get("UserWarnings").is_none(), "it is told once: {again}");
            assert!(is_chained(&system.last_call()), "what its provider remembers is clean by now");
        }
        let rerun = json!({"TurnId": id()}).to_string();
        eve.post(&format!("{}/rerun", turn_path(&own)), rerun).await.result();
        let call = system.last_call();
        assert!(!is_chained(&call) && !call.to_string().contains("secret"), "{call}");
        // Its owner may see it, and is told it on.
        let answer = ada.execute(&turn_in(session_of(&of_ada), "Goes on")).await.result();
        assert!(answer.get("UserWarnings").is_none() && is_chained(&system.last_call()), "{answer}");
    }
}

#[tokio::test]
async fn lists_skip_private_sessions_of_others() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let shared = turn("shared");
    ada.execute(&shared).await.result();
    let mut hidden = Vec::new();
    for number in 0..3 {
        hidden.push(private(&ada, &format!("private {number}")).await);
    }
    let page = async |client: &Client, query: &str| client.get(&format!("{SESSIONS}{query}")).await.result();
    let ids = |page: &Value| {
        page["Items"].as_array().unwrap().iter().map(|item| item["Id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&page(&ada, "").await).len(), 4);
    for query in ["", "?pageSize=1", "?userId=ada"] {
        assert_eq!(ids(&page(&eve, query).await), [shared["SessionId"].clone()], "{query}");
    }
    // No page says where it ended: it may be at a hidden session.
    let (mut tokens, mut path) = (Vec::new(), format!("{SESSIONS}?pageSize=1"));
    for _ in 0..500 {
        let answer = eve.get(&path).await.result();
        let Some(token) = answer["ContinuationToken"].as_str() else { break };
        tokens.push(token.to_owned());
        path = format!("{SESSIONS}?pageSize=1&continuationToken={token}");
    }
    assert!(!tokens.is_empty());
    for token in &tokens {
        let decoded = URL_SAFE_NO_PAD.decode(token).unwrap();
        let decoded = String::from_utf8_lossy(&decoded);
        for request in hidden.iter().chain([&shared]) {
            let id = session_of(request);
            assert!(!token.contains(id) && !decoded.contains(id), "{decoded}");
        }
    }
    // Whoever took a turn in it before it was private still sees it.
    let bob = system.client("acme", "bob");
    edit(&ada, &hidden[0], json!({"Visibility": "org"})).await.result();
    bob.execute(&turn_in(session_of(&hidden[0]), "from bob")).await.result();
    edit(&ada, &hidden[0], json!({"Visibility": "participants"})).await.result();
    assert_eq!(ids(&page(&bob, "").await).len(), 2);
    assert_eq!(bob.get(&session_path(&hidden[0])).await.result()["Visibility"], "participants");
    let again = bob.execute(&turn_in(session_of(&hidden[0]), "again")).await;
    assert_eq!(again.result()["Kind"], "final");
    assert_eq!(eve.get(&session_path(&hidden[0])).await.status, 404);
}

#[tokio::test]
async fn setting_makes_new_sessions_private() {
    let private = [("SESSION_VISIBILITY".to_owned(), "participants".to_owned())];
    let system = System::with(Options { environment: private.into(), ..options() }).await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let request = turn("first words");
    ada.execute(&request).await.result();
    assert_eq!(ada.get(&session_path(&request)).await.result()["Visibility"], "participants");
    assert_eq!(eve.get(&session_path(&request)).await.status, 404);
    edit(&ada, &request, json!({"Visibility": "org"})).await.result();
    assert_eq!(eve.get(&session_path(&request)).await.status, 200);
}

#[tokio::test]
async fn org_overrides_the_default_visibility() {
    let system = System::start().await;
    crate::org_settings::set(&system, "acme", json!({"SessionVisibility": "participants"})).await;
    for (org, seen) in [("acme", 404), ("rival", 200)] {
        let request = turn("first words");
        system.client(org, "ada").execute(&request).await.result();
        assert_eq!(system.client(org, "eve").get(&session_path(&request)).await.status, seen, "{org}");
    }
}

#[tokio::test]
async fn org_keeps_its_sessions_to_their_participants() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let open = turn("open");
    ada.execute(&open).await.result();
    crate::org_settings::set(&system, "acme", json!({"SessionVisibility": "participants_only"})).await;
    let closed = turn("closed");
    ada.execute(&closed).await.result();
    assert_eq!(eve.get(&session_path(&closed)).await.status, 404);
    for path in [&open, &closed] {
        let named = edit(&ada, path, json!({"Name": "Mine", "Visibility": "participants"})).await.result();
        assert_eq!(named["Visibility"], "participants");
        let refused = edit(&ada, path, json!({"Name": "Ours", "Visibility": "org"})).await;
        assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"), "{}", refused.text);
        assert_eq!(refused.errors()[0]["Details"], "Visibility");
        assert_eq!(ada.get(&session_path(path)).await.result()["Name"], "Mine", "nothing was changed");
    }
    // An operator opens one. A fork of it is its owner's again.
    let op = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    assert_eq!(edit(&op, &closed, json!({"Visibility": "org"})).await.result()["Visibility"], "org");
    assert_eq!(eve.get(&session_path(&closed)).await.status, 200);
    assert_eq!(edit(&ada, &closed, json!({"Visibility": "org"})).await.status, 200, "it is open already");
    let asked = json!({"SessionId": id(), "TurnId": closed["TurnId"]});
    let fork = eve.post(&format!("{}/fork", session_path(&closed)), asked.to_string()).await.result();
    assert_eq!(fork["Visibility"], "participants");
}

#[tokio::test]
async fn an_operator_sees_private_sessions_deletes_and_restores_them() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = private(&ada, "first words").await;
    let op = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    assert_eq!(op.get(&session_path(&request)).await.result()["Visibility"], "participants");
    delete(&op, &request).await.result();
    assert_eq!(op.get(&session_path(&request)).await.result()["IsDeleted"], true);
    restore(&op, &request).await.result();
    let foreign = system.identified(&Identity { operator: true, ..Identity::user("rival", "op") });
    assert_eq!(foreign.get(&session_path(&request)).await.status, 404);
}

#[tokio::test]
async fn a_fork_is_as_private_as_its_source() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let request = private(&ada, "first words").await;
    let asked = json!({"SessionId": crate::support::id(), "TurnId": request["TurnId"]});
    let fork = ada.post(&format!("{}/fork", session_path(&request)), asked.to_string()).await.result();
    assert_eq!(fork["Visibility"], "participants");
    assert_eq!(eve.get(&session_path(&asked)).await.status, 404);
}
