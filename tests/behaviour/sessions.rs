//! `GET /api/ai/agent/sessions` and below.

use contracts::paths;
use local::token::Identity;
use serde_json::{Value, json};

use crate::support::{Client, PATIENCE, System, session_path, turn, turn_in, turn_path};

async fn list(client: &Client, query: &str) -> Value {
    client.get(&format!("{}{query}", paths::SESSIONS)).await.result()
}

fn ids(page: &Value) -> Vec<String> {
    page["Items"].as_array().unwrap().iter().map(|item| item["Id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sessions_are_listed_by_newest_activity_and_paged() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut expected = Vec::new();
    for number in 0..5 {
        let request = turn(&format!("session {number}"));
        ada.execute(&request).await.result();
        expected.insert(0, request["SessionId"].as_str().unwrap().to_owned());
    }
    let mut seen = Vec::new();
    let mut query = "?pageSize=2".to_owned();
    loop {
        let page = list(&ada, &query).await;
        assert_eq!(page["PageSize"], 2);
        seen.extend(ids(&page));
        let Some(token) = page["ContinuationToken"].as_str() else {
            assert_eq!(page["HasMore"], false);
            break;
        };
        assert_eq!(page["HasMore"], true);
        query = format!("?pageSize=2&continuationToken={token}");
    }
    assert_eq!(seen, expected);
    let summary = &list(&ada, "").await["Items"][0];
    assert_eq!((summary["Name"].as_str(), summary["TurnCount"].as_u64()), (Some("session 4"), Some(1)));
}

#[tokio::test]
async fn user_list_orders_participated_sessions_by_own_last_turn() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let (one, two) = (turn("one"), turn("two"));
    ada.execute(&one).await.result();
    ada.execute(&two).await.result();
    bob.execute(&turn_in(one["SessionId"].as_str().unwrap(), "from bob")).await.result();
    assert_eq!(ids(&list(&ada, "?userId=bob").await), [one["SessionId"].as_str().unwrap()]);
    assert_eq!(
        ids(&list(&bob, "?userId=ada").await),
        [two["SessionId"].as_str().unwrap(), one["SessionId"].as_str().unwrap()]
    );
    assert!(ids(&list(&ada, "?userId=nobody").await).is_empty());
    // Ada goes on with the first: her own order changes once that turn is finalized.
    ada.execute(&turn_in(one["SessionId"].as_str().unwrap(), "again")).await.result();
    let moved = |answer: &crate::support::Answer| {
        ids(&answer.json()["Result"]).first().map(String::as_str) == one["SessionId"].as_str()
    };
    let later = ada.until(&format!("{}?userId=ada", paths::SESSIONS), PATIENCE, moved).await;
    assert!(moved(&later), "{}", later.text);
}

#[tokio::test]
async fn invalid_query_is_refused_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for query in [
        "?pageSize=0",
        "?pageSize=101",
        "?pageSize=x",
        "?banana=1",
        "?continuationToken=x",
        "?continuationToken=W10",
    ] {
        let refused = ada.get(&format!("{}{query}", paths::SESSIONS)).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{query}");
    }
}

#[tokio::test]
async fn unknown_query_parameter_is_refused_on_every_route() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    let path = turn_path(&request);
    let named = |answer: &crate::support::Answer| {
        assert_eq!((answer.status, answer.error().as_str()), (400, "ParameterInvalid"), "{}", answer.text);
        answer.errors()[0]["Details"].as_str().unwrap().to_owned()
    };
    for (path, member) in [
        (format!("{}?pageSize=abc", paths::SESSIONS), "pageSize"),
        (format!("{}?pageSize=2&pageSize=3", paths::SESSIONS), "pageSize"),
        (format!("{}?banana=1", paths::SESSIONS), "banana"),
        (format!("{}?pageSize=0", session_path(&request)), "pageSize"),
        (format!("{}?order=up", session_path(&request)), "order"),
        (format!("{}/turns?status=done", session_path(&request)), "status"),
        (format!("{}/turns/last?status=done", session_path(&request)), "status"),
        (format!("{}?from=yesterday", paths::SESSIONS), "from"),
        (format!("{}?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", paths::SESSIONS), "to"),
        (format!("{}/turns/last?banana=1", session_path(&request)), "banana"),
        (format!("{path}?banana=1"), "banana"),
        (format!("{path}/summary?banana=1"), "banana"),
        (format!("{path}/stream?banana=1"), "banana"),
        (format!("{path}/payloads/answer?banana=1"), "banana"),
    ] {
        assert_eq!(named(&ada.get(&path).await), member, "{path}");
    }
    let calls = system.model_calls().len();
    for path in [paths::EXECUTE, paths::TOOL_RESULTS, &format!("{path}/cancel")] {
        let refused = ada.post(&format!("{path}?banana=1"), turn("x").to_string()).await;
        assert_eq!(named(&refused), "banana", "{path}");
    }
    assert_eq!(system.model_calls().len(), calls);
}

#[tokio::test]
async fn page_token_is_bound_to_caller_and_list() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("hello");
    ada.execute(&first).await.result();
    ada.execute(&turn_in(first["SessionId"].as_str().unwrap(), "again")).await.result();
    ada.execute(&turn("another")).await.result();
    let page = list(&ada, "?pageSize=1").await;
    let ours = page["ContinuationToken"].as_str().unwrap().to_owned();
    // A page of another size is a page of the same list.
    assert_eq!(ids(&list(&ada, &format!("?pageSize=7&continuationToken={ours}")).await).len(), 1);
    let refused = async |client: &Client, path: String| {
        let refused = client.get(&path).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{path}");
        assert_eq!(refused.errors()[0]["Details"], "continuationToken");
    };
    let turns = format!("{}/turns", session_path(&first));
    for list in [
        format!("{}?userId=ada", paths::SESSIONS),
        format!("{}?status=completed", paths::SESSIONS),
        format!("{}?to=2999-01-01T00:00:00Z", paths::SESSIONS),
        format!("{turns}?pageSize=1"),
        format!("{}/mode-history?pageSize=1", session_path(&first)),
        format!("{}?pageSize=1", session_path(&first)),
    ] {
        refused(&ada, format!("{list}&continuationToken={ours}")).await;
    }
    for user in [system.client("acme", "bob"), system.client("rival", "ada")] {
        refused(&user, format!("{}?continuationToken={ours}", paths::SESSIONS)).await;
    }
    let token = ada.get(&format!("{turns}?pageSize=1")).await.result()["ContinuationToken"].clone();
    let token = token.as_str().unwrap();
    refused(&ada, format!("{turns}?order=desc&continuationToken={token}")).await;
    let changed = format!("{}{}", &token[..token.len() - 1], if token.ends_with('A') { 'Q' } else { 'A' });
    let cut = &token[..10];
    for none in [changed.as_str(), cut, "0", "1", "-1", "x", "W10", "99999999999999999999"] {
        refused(&ada, format!("{turns}?continuationToken={none}")).await;
        refused(&ada, format!("{}?continuationToken={none}", session_path(&first))).await;
    }
}

#[tokio::test]
async fn sessions_are_filtered_by_status_mode_and_time() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mode = "call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"r\"}; then; say \"Done.\"";
    let mut made = Vec::new();
    for number in 0..6 {
        let request = match number {
            2 => turn("fails [[script: status 400]]"),
            4 => turn(&format!("changes [[script: {mode}]]")),
            _ => turn("plain"),
        };
        ada.execute(&request).await;
        // The dates that a list is narrowed by are the index's.
        system.until_finalized(request["SessionId"].as_str().unwrap(), 1).await;
        let seen = list(&ada, "").await;
        assert_eq!(ids(&seen)[0], request["SessionId"].as_str().unwrap());
        made.push((
            request["SessionId"].as_str().unwrap().to_owned(),
            seen["Items"][0]["LastTurnDate"].clone(),
        ));
    }
    let id = |number: usize| made[number].0.clone();
    let at = |number: usize| made[number].1.as_str().unwrap().to_owned();
    let all = async |query: &str| {
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = list(&ada, &format!("?pageSize=1&{query}{token}")).await;
            assert!(page["Items"].as_array().unwrap().len() <= 1);
            seen.extend(ids(&page));
            let Some(next) = page["ContinuationToken"].as_str() else { return seen };
            token = format!("&continuationToken={next}");
        }
    };
    assert_eq!(all("status=failed").await, [id(2)]);
    assert!(all("status=pending").await.is_empty());
    assert_eq!(all("mode=ddr_authoring").await, [id(4)]);
    assert_eq!(all("status=completed&mode=general").await, [5, 3, 1, 0].map(id));
    assert_eq!(all(&format!("from={}&to={}", at(1), at(3))).await, [3, 2, 1].map(id));
    // Her own activity is when she asked.
    assert_eq!(all(&format!("userId=ada&from={}", at(3))).await, [5, 4].map(id));
    assert!(all("to=2001-01-01T00:00:00Z").await.is_empty());
}

#[tokio::test]
async fn lists_show_outcomes_before_finalization() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (first, other) = (turn("one"), turn("other"));
    for request in [&first, &other] {
        ada.execute(request).await.result();
        system.until_finalized(request["SessionId"].as_str().unwrap(), 1).await;
    }
    let session = first["SessionId"].as_str().unwrap();
    let of = |page: &Value, id: &str| {
        page["Items"].as_array().unwrap().iter().find(|item| item["Id"] == id).unwrap().clone()
    };
    let totals = ada.get(&session_path(&first)).await.result()["TotalUsage"]["TotalTokens"].clone();
    let dated = of(&list(&ada, "").await, session)["LastTurnDate"].as_str().unwrap().to_owned();

    system.cloud.pause_finalizer().await;
    let mode = "call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"r\"}; then; say \"Kaleidoscope.\"";
    let next = turn_in(session, &format!("two [[script: {mode}]]"));
    ada.execute(&next).await.result();
    let fails = turn_in(other["SessionId"].as_str().unwrap(), "fails [[script: status 400]]");
    ada.execute(&fails).await;
    assert_eq!(
        system.attribute(&format!("TURN#{}", next["TurnId"].as_str().unwrap()), "Status").await.as_deref(),
        Some("pending")
    );

    let page = list(&ada, "").await;
    assert_eq!(ids(&page), [other["SessionId"].as_str().unwrap(), session], "by the activity that they show");
    let line = of(&page, session);
    assert_eq!((&line["LastTurnStatus"], &line["TurnCount"]), (&json!("completed"), &json!(2)));
    assert!(line["LastTurnDate"].as_str() > Some(dated.as_str()), "{line}");
    assert_eq!(line["LastUpdatedDate"], line["LastTurnDate"]);
    assert_eq!(of(&page, other["SessionId"].as_str().unwrap())["LastTurnStatus"], "failed");
    assert_eq!(of(&list(&ada, "?userId=ada").await, session), line);
    assert_eq!(ids(&list(&ada, "?status=completed").await), [session]);
    assert!(ids(&list(&ada, "?status=pending").await).is_empty());
    assert_eq!(ids(&list(&ada, "?mode=ddr_authoring").await), [session]);
    let turns = ada.get(&format!("{}/turns", session_path(&first))).await.result();
    assert_eq!(turns["Items"][1]["Status"]["Id"], "completed");
    assert_eq!(turns["Items"][1]["AgentAnswerSummary"], "Kaleidoscope.");
    let modes = ada.get(&format!("{}/mode-history", session_path(&first))).await.result();
    assert_eq!(modes["Items"][0]["NewMode"], "ddr_authoring");
    let found = ada.get(&format!("{}?q=kaleidoscope", paths::SEARCH)).await.result();
    assert_eq!(found["Items"][0]["Session"], line);
    let whole = ada.get(&session_path(&first)).await.result();
    assert!(whole["TotalUsage"]["TotalTokens"].as_u64() > totals.as_u64(), "{whole}");

    system.cloud.resume_finalizer().await;
    system.until_finalized(session, 2).await;
    assert_eq!(of(&list(&ada, "").await, session), line, "finalization changes nothing of it");
}

#[tokio::test]
async fn truncated_summary_is_marked_in_every_read() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let long = turn(&format!("{}[[script: words 400]]", "Please. ".repeat(200)));
    let short = turn_in(long["SessionId"].as_str().unwrap(), "Hello");
    ada.execute(&long).await.result();
    ada.execute(&short).await.result();
    let list = ada.get(&format!("{}/turns", session_path(&long))).await.result();
    let session = ada.get(&session_path(&long)).await.result();
    for (number, (request, cut)) in [(&long, json!(true)), (&short, Value::Null)].into_iter().enumerate() {
        let (whole, light) = (turn_path(request), format!("{}/summary", turn_path(request)));
        let read = [ada.get(&whole).await.result(), ada.get(&light).await.result()];
        for turn in read.iter().chain([&list["Items"][number], &session["Turns"][number]]) {
            let says = |name: &str| turn.get(name).cloned().unwrap_or_default();
            assert_eq!(says("InstructionSummaryTruncated"), cut, "{turn}");
            assert_eq!(says("AgentAnswerSummaryTruncated"), cut, "{turn}");
        }
    }
}

#[tokio::test]
async fn turns_are_paged_in_both_orders_and_filtered() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let first = turn("1");
    let session = first["SessionId"].as_str().unwrap();
    ada.execute(&first).await.result();
    for number in 2..=7 {
        let client = if number % 3 == 0 { &bob } else { &ada };
        let fails = if number == 5 { " [[script: status 400]]" } else { "" };
        client.execute(&turn_in(session, &format!("{number}{fails}"))).await;
    }
    let turns = async |query: &str| {
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let path = format!("{}/turns?pageSize=2{query}{token}", session_path(&first));
            let page = ada.get(&path).await.result();
            let items = page["Items"].as_array().unwrap().iter();
            seen.extend(items.map(|item| item["SequenceNumber"].as_u64().unwrap()));
            assert_eq!(page["HasMore"].as_bool(), Some(page.get("ContinuationToken").is_some()));
            let Some(next) = page["ContinuationToken"].as_str() else { return seen };
            token = format!("&continuationToken={next}");
        }
    };
    assert_eq!(turns("").await, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(turns("&order=desc").await, [7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(turns("&userId=bob&order=desc").await, [6, 3]);
    assert_eq!(turns("&status=failed").await, [5]);
    assert_eq!(turns("&mode=general&userId=ada&status=completed").await, [1, 2, 4, 7]);
    assert!(turns("&mode=poetry").await.is_empty());
    let created = ada.get(&turn_path(&first)).await.result()["CreationDate"].clone();
    assert_eq!(turns(&format!("&to={}", created.as_str().unwrap())).await, [1]);

    let session = ada.get(&format!("{}?order=desc&pageSize=3", session_path(&first))).await.result();
    let numbers = |session: &Value| {
        let turns = session["Turns"].as_array().unwrap().iter();
        turns.map(|turn| turn["SequenceNumber"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&session), [7, 6, 5]);
    let token = session["ContinuationToken"].as_str().unwrap();
    let path = format!("{}?order=desc&pageSize=9&continuationToken={token}", session_path(&first));
    let rest = ada.get(&path).await.result();
    assert_eq!(numbers(&rest), [4, 3, 2, 1]);
    assert!(rest.get("ContinuationToken").is_none());

    let last = async |query: &str| ada.get(&format!("{}/turns/last{query}", session_path(&first))).await;
    assert_eq!(last("").await.result()["SequenceNumber"], 7);
    assert_eq!(last("?status=failed").await.result()["SequenceNumber"], 5);
    assert_eq!(last("?status=completed").await.result()["SequenceNumber"], 7);
    assert_eq!(
        (last("?status=pending").await.status, last("?status=pending").await.error().as_str()),
        (404, "TurnNotFound")
    );
}

#[tokio::test]
async fn session_lists_participants_with_their_last_activity() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let request = turn("hello");
    ada.execute(&request).await.result();
    bob.execute(&turn_in(request["SessionId"].as_str().unwrap(), "from bob")).await.result();
    let session = ada.get(&session_path(&request)).await.result();
    let took_part: Vec<&Value> =
        session["Participants"].as_array().unwrap().iter().map(|part| &part["User"]).collect();
    assert_eq!(took_part, [&json!({"Id": "ada", "Text": "ada"}), &json!({"Id": "bob", "Text": "bob"})]);
    let active = |part: usize| session["Participants"][part]["LastActivityDate"].as_str().unwrap().to_owned();
    assert!(active(0) <= active(1));
    // Ada comes back: her own date moves once that turn is finalized.
    ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "again")).await.result();
    let moved = |answer: &crate::support::Answer| {
        answer.json()["Result"]["Participants"][0]["LastActivityDate"].as_str() > Some(active(1).as_str())
    };
    let later = ada.until(&session_path(&request), PATIENCE, moved).await;
    assert!(moved(&later), "{}", later.text);
}

#[tokio::test]
async fn session_org_name_comes_from_the_token_or_is_its_id() {
    let system = System::start().await;
    let identity = Identity { org_name: Some("Acme Corp.".to_owned()), ..Identity::user("acme", "ada") };
    let ada = system.identified(&identity);
    let request = turn("hello");
    ada.execute(&request).await.result();
    let org = |session: Value| session["OwnerOrganization"].clone();
    let named = org(ada.get(&session_path(&request)).await.result());
    assert_eq!(named, json!({ "Id": "acme", "Text": "Acme Corp." }));
    let bob = system.client("acme", "bob");
    let plain = org(bob.get(&session_path(&request)).await.result());
    assert_eq!(plain, json!({ "Id": "acme", "Text": "acme" }));
}

#[tokio::test]
async fn session_of_over_a_hundred_turns_is_paged() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("1");
    let session = first["SessionId"].as_str().unwrap();
    ada.execute(&first).await.result();
    for number in 2..=103 {
        ada.execute(&turn_in(session, &number.to_string())).await.result();
    }
    let page = ada.get(&session_path(&first)).await.result();
    assert_eq!((page["TurnCount"].as_u64(), page["Turns"].as_array().unwrap().len()), (Some(103), 100));
    let token = page["ContinuationToken"].as_str().unwrap();
    let rest = ada.get(&format!("{}?continuationToken={token}", session_path(&first))).await.result();
    let numbers: Vec<u64> = rest["Turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["SequenceNumber"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [101, 102, 103]);
    assert!(rest.get("ContinuationToken").is_none());
}

#[tokio::test]
async fn turn_is_read_in_full_as_summary_and_as_last() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("first");
    let second = turn_in(first["SessionId"].as_str().unwrap(), "second");
    ada.execute(&first).await.result();
    ada.execute(&second).await.result();
    let summary = ada.get(&format!("{}/summary", turn_path(&first))).await.result();
    assert_eq!(summary["InstructionSummary"], "first");
    assert!(summary.get("FullInstructionUrl").is_none());
    let last = ada.get(&format!("{}/turns/last", session_path(&first))).await.result();
    assert_eq!(last["Id"], second["TurnId"]);
    assert_eq!(ada.get(&format!("{}/turns/none", session_path(&first))).await.error(), "TurnNotFound");
}
