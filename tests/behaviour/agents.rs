//! Agents and conversation contexts over the API: validation, versions, preconditions, rollback, and who may edit them.

use agent::context::Rollout;
use aws_sdk_dynamodb::types::AttributeValue;
use contracts::paths::{AGENTS, CONVERSATION_CONTEXTS, ContextPaths};
use futures::future::join_all;
use local::{Function, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::provider_start::aptix;
use crate::session_edits::edit;
use crate::support::{Answer, Client, System, line, session_path, turn, turn_in};

pub fn editor(system: &System, org: &str) -> Client {
    system.identified(&Identity { agent_editor: true, ..Identity::user(org, "eddie") })
}

/// Content of a conversation context.
fn saying(system: &str) -> Value {
    json!({"Name": "Brief", "System": system})
}

pub async fn put(client: &Client, path: &str, content: &Value) -> Answer {
    client.send(Method::PUT, path, Some(content.to_string())).await
}

async fn put_if(client: &Client, path: &str, header: (&str, &str), content: &Value) -> Answer {
    let headers = [("content-type", "application/json"), header];
    client.raw(Method::PUT, path, &headers, content.to_string().into_bytes()).await
}

async fn roll_back(client: &Client, path: &str, version: u32) -> Answer {
    client.post(path, json!({"Version": version}).to_string()).await
}

/// A turn of a session with the conversation context `brief`.
fn brief(session: &str) -> Value {
    let mut request = turn_in(session, "hello");
    request["ConversationContextId"] = json!("brief");
    request
}

fn tag(context: &Value) -> String {
    format!("\"{}\"", context["ETag"].as_str().unwrap())
}

/// The numbers of the versions, newest first.
async fn numbers(client: &Client, path: &str) -> Vec<u64> {
    let listed = client.get(path).await.result();
    listed["Items"].as_array().unwrap().iter().map(|version| version["Version"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn written_agent_is_read_listed_and_used_by_turns() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    put(&eddie, &CONVERSATION_CONTEXTS.context("brief"), &saying("Be brief.")).await.result();
    let content =
        json!({"Kind": "agent", "Id": "helper", "Name": "Helper", "DefaultConversationContextId": "brief"});
    let answer = put(&eddie, &AGENTS.context("helper"), &content).await;
    let written = answer.result();
    assert_eq!((&written["Version"], &written["LastUpdatedBy"]["Id"]), (&json!(1), &json!("eddie")));
    assert_eq!(answer.header("etag"), Some(tag(&written).as_str()));

    let mut request = turn("hello");
    request["AgentContextId"] = json!("helper");
    ada.execute(&request).await.result();
    assert!(system.model_calls()[0].to_string().contains("Be brief."));

    let read = eddie.get(&AGENTS.context("helper")).await;
    assert_eq!(read.result(), written);
    assert_eq!(written["Content"]["DefaultConversationContextId"], "brief");
    let headers = [("if-none-match", read.header("etag").unwrap())];
    let again = eddie.raw(Method::GET, &AGENTS.context("helper"), &headers, Vec::new()).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));

    let listed = eddie.get(AGENTS.list).await.result();
    let shown = |context: &Value| (context["Id"].as_str().unwrap().to_owned(), context["IsBuiltIn"] == true);
    let ids: Vec<_> = listed["Items"].as_array().unwrap().iter().map(shown).collect();
    let expected = [("helper", false), ("default", true), ("workspace", true)];
    assert_eq!(ids, expected.map(|(id, is_built_in)| (id.to_owned(), is_built_in)));
    assert_eq!(listed["Items"][0]["Content"], Value::Null);
    let default = eddie.get(&CONVERSATION_CONTEXTS.context("default")).await.result();
    assert_eq!((&default["IsBuiltIn"], &default["Content"]["Id"]), (&json!(true), &json!("default")));
}

#[tokio::test]
async fn lists_of_agents_have_pages() {
    let system = System::start().await;
    let eddie = editor(&system, "acme");
    for id in ["a", "b", "c"] {
        put(&eddie, &AGENTS.context(id), &json!({"Name": id})).await.result();
    }
    let first = eddie.get(&format!("{}?pageSize=2", AGENTS.list)).await.result();
    let token = first["ContinuationToken"].as_str().unwrap();
    let second = eddie.get(&format!("{}?pageSize=2&continuationToken={token}", AGENTS.list)).await.result();
    let ids = |page: &Value| -> Vec<String> {
        let items = page["Items"].as_array().unwrap().iter();
        items.map(|item| item["Id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (ids(&first), ids(&second)),
        (vec!["a".into(), "b".into()], vec!["c".into(), "default".into(), "workspace".into()])
    );
    let refused = eddie.get(&format!("{}?continuationToken={token}", CONVERSATION_CONTEXTS.list)).await;
    assert_eq!(refused.error(), "ParameterInvalid");
}

#[tokio::test]
async fn invalid_content_is_refused_with_every_member() {
    let system = System::start().await;
    let (eddie, path) = (editor(&system, "acme"), CONVERSATION_CONTEXTS.context("brief"));
    for (content, members) in [
        (
            json!({"Name": "B", "System": " ", "Temperature": 9, "Provider": "gone"}),
            vec!["System", "Temperature", "Provider"],
        ),
        (json!({"Name": 1, "System": "Help.", "Colour": "red"}), vec!["Colour", "Name"]),
        (json!({"Name": "B", "System": "Help.", "Id": "other", "Kind": "agent"}), vec!["Id", "Kind"]),
    ] {
        let refused = put(&eddie, &path, &content).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"), "{}", refused.text);
        let errors = refused.errors();
        let mut named: Vec<_> = errors.iter().filter_map(|error| error["Details"].as_str()).collect();
        let mut members = members;
        named.sort_unstable();
        members.sort_unstable();
        assert_eq!(named, members, "{}", refused.text);
    }
    let refused = put(&eddie, &CONVERSATION_CONTEXTS.context("default"), &saying("Help.")).await;
    assert!(refused.errors()[0]["Message"].as_str().unwrap().contains("reserved"), "{}", refused.text);
    let empty = eddie.send(Method::PUT, &path, Some(String::new())).await;
    assert_eq!(empty.error(), "BodyMissing");
    assert_eq!(eddie.get(&path).await.error(), "ConversationContextNotFound");
}

#[tokio::test]
async fn change_requires_the_entity_tag_that_was_read() {
    let system = System::start().await;
    let (eddie, path) = (editor(&system, "acme"), CONVERSATION_CONTEXTS.context("brief"));
    let create = ("if-none-match", "*");
    let first = put_if(&eddie, &path, create, &saying("One.")).await.result();
    let exists = put_if(&eddie, &path, create, &saying("Two.")).await;
    assert_eq!((exists.status, exists.error().as_str()), (412, "PreconditionFailed"));

    let second = put_if(&eddie, &path, ("if-match", &tag(&first)), &saying("Two.")).await.result();
    assert_eq!(second["Version"], 2);
    let stale = put_if(&eddie, &path, ("if-match", &tag(&first)), &saying("Three.")).await;
    assert_eq!((stale.status, &stale.errors()[0]["Details"]), (412, &second["ETag"]));
    // The request that lost its response is sent again.
    let repeated = put_if(&eddie, &path, ("if-match", &tag(&first)), &saying("Two.")).await.result();
    assert_eq!(repeated, second);
    let weak = format!("\"x\", W/{}", tag(&second));
    let refused = put_if(&eddie, &path, ("if-match", &weak), &saying("Three.")).await;
    assert_eq!(refused.status, 412, "a weak tag matches nothing");
    let list = format!("\"x\", {}", tag(&second));
    assert_eq!(put_if(&eddie, &path, ("if-match", &list), &saying("Three.")).await.result()["Version"], 3);

    let other = put_if(&eddie, &path, ("if-none-match", "\"x\""), &saying("Four.")).await;
    assert_eq!((other.status, &other.errors()[0]["Details"]), (400, &json!("If-None-Match")));
    let absent =
        put_if(&eddie, &CONVERSATION_CONTEXTS.context("nobody"), ("if-match", "*"), &saying("x")).await;
    assert_eq!(absent.status, 412);
    assert_eq!(numbers(&eddie, &CONVERSATION_CONTEXTS.versions("brief")).await, [3, 2, 1]);
}

#[tokio::test]
async fn concurrent_changes_get_versions_of_their_own() {
    let system = System::start().await;
    let (eddie, path) = (editor(&system, "acme"), CONVERSATION_CONTEXTS.context("brief"));
    let contents: Vec<Value> = (0..4).map(|number| saying(&format!("Number {number}."))).collect();
    let written = join_all(contents.iter().map(|content| put(&eddie, &path, content))).await;
    let mut versions: Vec<_> = written.iter().map(|one| one.result()["Version"].as_u64().unwrap()).collect();
    versions.sort_unstable();
    assert_eq!(versions, [1, 2, 3, 4]);
}

#[tokio::test]
async fn rollback_is_a_new_version_and_reaches_new_turns() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    let path = CONVERSATION_CONTEXTS.context("brief");
    put(&eddie, &path, &saying("First words.")).await.result();
    put(&eddie, &path, &saying("Second words.")).await.result();
    ada.execute(&brief("s1")).await.result();
    let restored = roll_back(&eddie, &CONVERSATION_CONTEXTS.rollback("brief"), 1).await.result();
    assert_eq!((&restored["Version"], &restored["Content"]["System"]), (&json!(3), &json!("First words.")));
    ada.execute(&brief("s2")).await.result();
    let calls = system.model_calls();
    assert!(calls[0].to_string().contains("Second words."), "{}", calls[0]);
    assert!(calls[1].to_string().contains("First words."), "{}", calls[1]);

    let again = roll_back(&eddie, &CONVERSATION_CONTEXTS.rollback("brief"), 1).await.result();
    assert_eq!(again["Version"], 3, "it has that content");
    let versions = eddie.get(&CONVERSATION_CONTEXTS.versions("brief")).await.result();
    assert_eq!(
        (&versions["Items"][0]["RestoredVersion"], versions["Items"].as_array().unwrap().len()),
        (&json!(1), 3)
    );
    assert_eq!(versions["Items"][0]["ContentHash"], versions["Items"][2]["ContentHash"]);
    let second = eddie.get(&CONVERSATION_CONTEXTS.version("brief", 2)).await.result();
    assert_eq!(
        (&second["Content"]["System"], &second["CreatedBy"]["Id"]),
        (&json!("Second words."), &json!("eddie"))
    );
    for unknown in [
        roll_back(&eddie, &CONVERSATION_CONTEXTS.rollback("brief"), 9).await,
        eddie.get(&CONVERSATION_CONTEXTS.version("brief", 9)).await,
    ] {
        assert_eq!((unknown.status, unknown.error().as_str()), (404, "ContextVersionNotFound"));
    }
    let wrong = roll_back(&eddie, &CONVERSATION_CONTEXTS.rollback("brief"), 0).await;
    assert_eq!((wrong.status, &wrong.errors()[0]["Details"]), (400, &json!("Version")));
}

#[tokio::test]
async fn deleted_agent_refuses_new_sessions_until_it_is_rolled_back() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    let path = CONVERSATION_CONTEXTS.context("brief");
    put(&eddie, &path, &saying("Be brief.")).await.result();
    ada.execute(&brief("s1")).await.result();
    let deleted = eddie.send(Method::DELETE, &path, None).await.result();
    assert_eq!(deleted["Content"]["System"], "Be brief.");
    for request in [brief("s1"), brief("s2")] {
        let refused = ada.execute(&request).await;
        assert_eq!((refused.status, refused.error().as_str()), (404, "ConversationContextNotFound"));
    }
    for gone in [eddie.get(&path).await, eddie.send(Method::DELETE, &path, None).await] {
        assert_eq!((gone.status, gone.error().as_str()), (404, "ConversationContextNotFound"));
    }
    let listed = eddie.get(CONVERSATION_CONTEXTS.list).await.result();
    assert_eq!(listed["Items"].as_array().unwrap().len(), 1, "the built-in one");
    let versions = eddie.get(&CONVERSATION_CONTEXTS.versions("brief")).await.result();
    assert_eq!(
        (&versions["Items"][0]["Version"], &versions["Items"][0]["IsDeletion"]),
        (&json!(2), &json!(true))
    );
    let refused = roll_back(&eddie, &CONVERSATION_CONTEXTS.rollback("brief"), 2).await;
    assert_eq!(refused.error(), "ContextVersionNotFound");
    roll_back(&eddie, &CONVERSATION_CONTEXTS.rollback("brief"), 1).await.result();
    ada.execute(&brief("s1")).await.result();
    assert_eq!(numbers(&eddie, &CONVERSATION_CONTEXTS.versions("brief")).await, [3, 2, 1]);
}

#[tokio::test]
async fn content_written_without_a_version_can_be_restored() {
    let system = System::start().await;
    let eddie = editor(&system, "acme");
    let mut item = system.cloud.dynamodb().put_item().table_name(system.cloud.table());
    let document = json!({"Id": "brief", "Name": "Brief", "System": "By hand."}).to_string();
    for (name, value) in [("PK", "O#acme"), ("SK", "CONV#brief"), ("Document", document.as_str())] {
        item = item.item(name, AttributeValue::S(value.to_owned()));
    }
    item.item("V", AttributeValue::N("1".to_owned())).send().await.expect("it is put");
    let path = CONVERSATION_CONTEXTS.context("brief");
    let read = eddie.get(&path).await.result();
    assert_eq!((read.get("Version"), &read["Content"]["System"]), (None, &json!("By hand.")));
    assert_eq!(numbers(&eddie, &CONVERSATION_CONTEXTS.versions("brief")).await, Vec::<u64>::new());
    let changed = put_if(&eddie, &path, ("if-match", &tag(&read)), &saying("By the API.")).await.result();
    assert_eq!(changed["Version"], 2);
    let restored = roll_back(&eddie, &CONVERSATION_CONTEXTS.rollback("brief"), 1).await.result();
    assert_eq!((&restored["Version"], &restored["Content"]["System"]), (&json!(3), &json!("By hand.")));
}

/// Every operation on a context of this id, and its body.
fn operations(paths: ContextPaths, id: &str) -> Vec<(Method, String, Option<Value>)> {
    vec![
        (Method::GET, paths.context(id), None),
        (Method::PUT, paths.context(id), Some(json!({"Name": "N", "System": "S"}))),
        (Method::DELETE, paths.context(id), None),
        (Method::GET, paths.versions(id), None),
        (Method::GET, paths.version(id, 1), None),
        (Method::POST, paths.rollback(id), Some(json!({"Version": 1}))),
        (Method::PUT, paths.rollout(id).unwrap(), Some(json!({"Version": 1, "Percent": 10}))),
    ]
}

async fn ask(client: &Client, (method, path, body): &(Method, String, Option<Value>)) -> Answer {
    client.send(method.clone(), path, body.as_ref().map(Value::to_string)).await
}

#[tokio::test]
async fn only_operators_and_agent_editors_of_the_org_edit_agents() {
    let system = System::start().await;
    let (eddie, ada, eve) = (editor(&system, "acme"), system.client("acme", "ada"), editor(&system, "rival"));
    let op = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    put(&eddie, &AGENTS.context("known"), &json!({"Name": "Known"})).await.result();
    put(&op, &CONVERSATION_CONTEXTS.context("known"), &saying("Help.")).await.result();
    for paths in [AGENTS, CONVERSATION_CONTEXTS] {
        let refused = ada.get(paths.list).await;
        assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
        for (known, unknown) in operations(paths, "known").iter().zip(&operations(paths, "unknown")) {
            let (one, other) = (ask(&ada, known).await, ask(&ada, unknown).await);
            assert_eq!((one.status, &one.text), (403, &refused.text), "{known:?}");
            assert_eq!((other.status, &other.text), (403, &refused.text), "{unknown:?}");
            if known.0 != Method::PUT {
                let (foreign, never) = (ask(&eve, known).await, ask(&eve, unknown).await);
                assert_eq!(foreign.status, 404, "{known:?}: {}", foreign.text);
                assert_eq!(foreign.text.replace("known", ""), never.text.replace("unknown", ""));
            }
        }
        assert!(!eve.get(paths.list).await.text.contains("known"));
        assert_eq!(op.get(&paths.context("known")).await.result()["Version"], 1);
    }
    // An agent editor is no operator.
    let export = eddie.get(contracts::paths::EXPORT).await;
    assert_eq!((export.status, export.error().as_str()), (403, "Forbidden"));
}

#[tokio::test]
async fn changes_of_agents_are_audited() {
    let system = System::start().await;
    let (eddie, path) = (editor(&system, "acme"), AGENTS.context("helper"));
    for name in ["One", "Two", "Two"] {
        put(&eddie, &path, &json!({"Name": name})).await.result();
    }
    roll_back(&eddie, &AGENTS.rollback("helper"), 1).await.result();
    eddie.send(Method::DELETE, &path, None).await.result();
    let is_audit = |line: &Value| line["message"] == "audit" && line["context"] == "helper";
    let is_last = |line: &Value| is_audit(line) && line["action"] == "context_delete";
    system.logged(Function::Execute, "audit", is_last).await;
    let lines = system.logged(Function::Execute, "audit", is_audit).await;
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line["action"].as_str().unwrap(), line["version"].as_u64().unwrap()))
        .collect();
    let expected = [("context_put", 1), ("context_put", 2), ("context_rollback", 3), ("context_delete", 4)];
    assert_eq!(told, expected);
    let one = line(&lines, "audit");
    assert_eq!(
        (&one["user"], &one["agent_editor"], &one["context_kind"]),
        (&json!("eddie"), &json!(true), &json!("agent"))
    );
    assert!(!lines.iter().any(|line| line.to_string().contains("One")), "no content: {lines:?}");
}

#[tokio::test]
async fn pinned_session_answers_with_its_version_while_another_is_live() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    for number in 1..=4 {
        let content = json!({"Name": "Brief", "System": format!("Words {number}."), "Chain": "local"});
        put(&eddie, &CONVERSATION_CONTEXTS.context("brief"), &content).await.result();
    }
    let request = brief("s1");
    ada.execute(&request).await.result();
    let pinned = edit(&eddie, &request, json!({"ConversationContextVersion": 3})).await.result();
    assert_eq!(pinned["ConversationContextVersion"], 3);
    ada.execute(&brief("s1")).await.result();
    ada.execute(&brief("s2")).await.result();
    let fork = json!({"SessionId": "s3", "TurnId": request["TurnId"]});
    ada.post(&format!("{}/fork", session_path(&request)), fork.to_string()).await.result();
    ada.execute(&brief("s3")).await.result();
    edit(&eddie, &request, json!({"ConversationContextVersion": 0})).await.result();
    ada.execute(&brief("s1")).await.result();
    let words: Vec<bool> =
        system.model_calls().iter().map(|call| call.to_string().contains("Words 4.")).collect();
    assert_eq!(words, [true, false, true, false, true], "live, pinned, another session, its fork, moved");
    assert!(system.model_calls()[1].to_string().contains("Words 3."));
    let read = ada.get(&session_path(&request)).await.result();
    assert_eq!(read.get("ConversationContextVersion"), None);

    for (version, member) in [(9, "ConversationContextVersion"), (1, "AgentContextVersion")] {
        let refused = edit(&eddie, &request, json!({(member): version})).await;
        assert_eq!((refused.status, refused.error().as_str()), (404, "ContextVersionNotFound"), "{member}");
    }
    let refused = edit(&ada, &request, json!({"ConversationContextVersion": 3})).await;
    assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
    let invalid = edit(&eddie, &request, json!({"ConversationContextVersion": -1})).await;
    assert_eq!(
        (invalid.status, &invalid.errors()[0]["Details"]),
        (400, &json!("ConversationContextVersion"))
    );
    let pin = |line: &Value| line["message"] == "audit" && line["action"] == "pin";
    assert_eq!(system.logged(Function::Execute, "audit", pin).await[0]["user"], "eddie");
}

#[tokio::test]
async fn rollout_gives_a_version_to_a_share_of_the_sessions() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    for number in 1..=2 {
        let content = json!({"Name": "Brief", "System": format!("Words {number}."), "Chain": "local"});
        put(&eddie, &CONVERSATION_CONTEXTS.context("brief"), &content).await.result();
    }
    let half = Rollout { version: 1, percent: 50 };
    let find = |is_in: bool| {
        let mut ids = (0..100).map(|number| format!("s{number}"));
        ids.find(|id| half.includes("brief", id) == is_in).unwrap()
    };
    let (inside, outside) = (find(true), find(false));
    let roll_out = async |percent: u8| {
        let body = json!({"Version": 1, "Percent": percent}).to_string();
        eddie.send(Method::PUT, &CONVERSATION_CONTEXTS.rollout("brief").unwrap(), Some(body)).await
    };
    let words = async |session: &str| {
        ada.execute(&brief(session)).await.result();
        let call = system.model_calls().last().unwrap().to_string();
        (1..=2).find(|number| call.contains(&format!("Words {number}."))).unwrap()
    };
    let written = roll_out(50).await.result();
    assert_eq!(
        (&written["Version"], &written["Rollout"]),
        (&json!(2), &json!({"Version": 1, "Percent": 50}))
    );
    assert_eq!((words(&inside).await, words(&outside).await), (1, 2));
    roll_out(100).await.result();
    assert_eq!((words(&inside).await, words(&outside).await), (1, 1));
    assert_eq!(roll_out(0).await.result().get("Rollout"), None);
    assert_eq!((words(&inside).await, words(&outside).await), (2, 2));
    roll_out(100).await.result();
    let content = json!({"Name": "Brief", "System": "Words 2. And more.", "Chain": "local"});
    put(&eddie, &CONVERSATION_CONTEXTS.context("brief"), &content).await.result();
    assert_eq!(words(&inside).await, 2, "a change ends it");

    let invalid = roll_out(101).await;
    assert_eq!((invalid.status, &invalid.errors()[0]["Details"]), (400, &json!("Percent")));
    let body = json!({"Version": 9, "Percent": 10}).to_string();
    let unknown = eddie.send(Method::PUT, &CONVERSATION_CONTEXTS.rollout("brief").unwrap(), Some(body)).await;
    assert_eq!(unknown.error(), "ContextVersionNotFound");
}

#[tokio::test]
async fn command_line_manages_agents_over_the_api() {
    let system = System::start().await;
    let identity = Identity { agent_editor: true, ..Identity::user("acme", "eddie") };
    let token = system.cloud.token(&identity).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agents.json");
    let run = async |arguments: &[&str]| {
        let environment = [("APTIX_URL", system.cloud.url()), ("APTIX_TOKEN", token.as_str())];
        let output = aptix(&[&["agents"], arguments].concat(), &environment).output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let content = |words: &str| {
        json!([{"Kind": "agent", "Id": "helper", "Name": "Helper"},
               {"Kind": "conversation", "Id": "brief", "Name": "Brief", "System": words}])
    };
    let path = file.to_str().unwrap();
    for words in ["Be brief.", "Be long."] {
        std::fs::write(&file, content(words).to_string()).unwrap();
        let (is_ok, output, errors) = run(&["put", path]).await;
        assert!(
            is_ok && output.contains("Saved helper as 1-") && output.contains("Saved brief as "),
            "{output}{errors}"
        );
    }
    let (_, listed, _) = run(&["list", "--conversation"]).await;
    assert!(
        listed.starts_with("brief ") && listed.contains(" 2-") && listed.contains("built-in"),
        "{listed}"
    );
    let (_, difference, errors) = run(&["diff", "brief", "1", "2", "--conversation"]).await;
    let changed = ["-  \"System\": \"Be brief.\",", "+  \"System\": \"Be long.\","];
    assert!(changed.iter().all(|line| difference.contains(line)), "{difference}{errors}");
    let (is_ok, output, errors) = run(&["rollback", "brief", "1", "--conversation"]).await;
    assert!(is_ok && output.contains("content of version 1, as 3-"), "{output}{errors}");
    let (_, versions, _) = run(&["versions", "brief", "--conversation"]).await;
    let lines: Vec<&str> = versions.lines().collect();
    assert!(lines.len() == 3 && lines[0].ends_with("restores 1") && lines[2].contains("eddie"), "{versions}");
    let (_, shown, _) = run(&["show", "brief", "--version", "2", "--conversation"]).await;
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["System"], "Be long.");

    system.client("acme", "eddie").execute(&brief("s1")).await.result();
    let (is_ok, output, errors) = run(&["pin", "s1", "2", "--conversation"]).await;
    assert!(is_ok && output == "s1 is pinned to version 2.\n", "{output}{errors}");

    let (is_ok, _, errors) = run(&["delete", "helper", "--if-match", "7-stale"]).await;
    assert!(!is_ok && errors.contains("PreconditionFailed"), "{errors}");
    let (is_ok, output, errors) = run(&["delete", "helper"]).await;
    assert!(is_ok && output.starts_with("Deleted helper."), "{output}{errors}");
    let wrong =
        json!({"Kind": "conversation", "Id": "brief", "Name": "Brief", "System": " ", "Temperature": 9});
    std::fs::write(&file, wrong.to_string()).unwrap();
    let (is_ok, _, errors) = run(&["put", path]).await;
    assert!(!is_ok && errors.contains("System: ") && errors.contains("Temperature: "), "{errors}");
}
