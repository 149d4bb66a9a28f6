//! Connections: tools over HTTP that the service calls for an agent, with a target of the test's own.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method as AxumMethod, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use contracts::paths::{
    AGENTS, CONNECTIONS, CONVERSATION_CONTEXTS, ORG_SETTINGS, connection_secret, tool_trial,
};
use local::{Data, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::agents::{editor, put};
use crate::client_tools::{results, submit};
use crate::export::operator;
use crate::provider_start::aptix;
use crate::support::{Answer, Client, System, options, reading_tool, tools, turn};

const SECRET: &str = "tk-5eCr3t+value/42";

/// A request that the target received.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

/// A ticket system: it files what it gets if the key is right, and returns the key that it was sent.
pub struct Target {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Drop for Target {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Target {
    pub async fn start() -> Self {
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&received));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received, server }
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn answer(
    State(received): State<Arc<Mutex<Vec<Received>>>>,
    method: AxumMethod,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = String::from_utf8(body.to_vec()).unwrap();
    let path = uri.to_string();
    let key = headers.get("x-api-key").map(|key| key.to_str().unwrap().to_owned());
    let request = Received { method: method.to_string(), path: path.clone(), headers, body: body.clone() };
    received.lock().unwrap().push(request);
    match path.split('?').next().unwrap() {
        "/v1/open" => (StatusCode::OK, r#"{"open":3}"#).into_response(),
        "/v1/redirect" => {
            let location = [("location", "http://169.254.169.254/latest/meta-data/")];
            (StatusCode::TEMPORARY_REDIRECT, location).into_response()
        }
        "/v1/broken" => (StatusCode::INTERNAL_SERVER_ERROR, "stack trace").into_response(),
        _ if key.as_deref() != Some(SECRET) => (StatusCode::UNAUTHORIZED, "wrong key").into_response(),
        _ => {
            let filed = json!({ "id": 17, "title": body, "echo": key }).to_string();
            (StatusCode::CREATED, [("content-type", "application/json")], filed).into_response()
        }
    }
}

/// A connection to the target.
pub fn tickets(url: &str) -> Value {
    let object = json!({ "type": "object", "properties": {} });
    json!({
        "Name": "Tickets", "Protocol": "http", "Url": format!("{url}/v1"),
        "Authentication": { "Scheme": "header", "Header": "X-Api-Key" },
        "Tools": [
            {
                "Name": "create_ticket", "Description": "Files a ticket.", "Class": "keyed",
                "Method": "POST", "Path": "/projects/{project}/tickets",
                "Parameters": { "type": "object", "required": ["project", "title"], "properties": {
                    "project": { "type": "string" }, "title": { "type": "string" },
                } },
            },
            { "Name": "redirect", "Description": "d", "Method": "POST", "Path": "/redirect", "Parameters": object },
            { "Name": "broken", "Description": "d", "Method": "POST", "Path": "/broken", "Parameters": object },
        ],
    })
}

async fn set_secret(client: &Client, id: &str) -> Answer {
    client.send(Method::PUT, &connection_secret(id), Some(json!({ "Value": SECRET }).to_string())).await
}

/// Writes the connection `tickets` with its secret, and the agent `helper` that has its tools.
async fn help_desk(olga: &Client, target: &Target) {
    put(olga, &CONNECTIONS.context("tickets"), &tickets(&target.url)).await.result();
    let stored = set_secret(olga, "tickets").await.result();
    assert_eq!(stored["Host"], target.url.trim_start_matches("http://"));
    put(olga, &AGENTS.context("helper"), &json!({ "Name": "Helper", "Tools": ["tickets.create_ticket"] }))
        .await
        .result();
}

fn asks(agent: &str, script: &str) -> Value {
    let mut turn = turn(&format!("Help [[script: {script}; then; say \"Filed.\"]]"));
    turn["AgentContextId"] = json!(agent);
    turn
}

fn files(title: &str) -> String {
    let arguments = json!({ "project": "a/b", "title": title });
    format!("call tickets__create_ticket {arguments}")
}

/// Files a ticket in a turn that a client's result resumed.
pub async fn file_in_a_resumed_turn(system: &System) {
    let (target, olga) = (Target::start().await, operator(system, "acme"));
    help_desk(&olga, &target).await;
    let reader = json!({ "Name": "Reader", "Tools": ["tickets"], "ClientTools": [reading_tool()] });
    put(&olga, &AGENTS.context("reader"), &reader).await.result();
    let ada = system.client("acme", "ada");
    let script = format!("call workspace_read_file {{\"path\":\"a\"}}; then; {}", files("T"));
    let suspended = ada.execute(&asks("reader", &script)).await.result();
    submit(&ada, &results(&suspended, "contents")).await.result();
    assert_eq!(target.received().len(), 1);
}

/// Returns the output of the only tool call in the newest model call.
fn tool_output(system: &System) -> String {
    let call = system.last_call();
    let items = call["input"].as_array().unwrap();
    let output = items.iter().rev().find(|item| item["type"] == "function_call_output").expect("an output");
    output["output"].as_str().unwrap().to_owned()
}

fn messages(answer: &Answer) -> String {
    let body = answer.json();
    let errors = body["Errors"].as_array().unwrap().iter();
    errors.map(|error| error["Message"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn agent_files_a_ticket_with_the_secret_of_its_connection() {
    let (system, target) = (System::start().await, Target::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    help_desk(&olga, &target).await;
    let answer = ada.execute(&asks("helper", &files("Printer on fire"))).await.result();
    assert!(answer.to_string().contains("Filed."), "{answer}");
    let received = target.received();
    let [filed] = &received[..] else { panic!("{received:?}") };
    assert_eq!((filed.method.as_str(), filed.path.as_str()), ("POST", "/v1/projects/a%2Fb/tickets"));
    assert_eq!(serde_json::from_str::<Value>(&filed.body).unwrap(), json!({ "title": "Printer on fire" }));
    assert_eq!(filed.headers["x-api-key"], SECRET);
    assert!(filed.headers["idempotency-key"].len() >= 20, "{:?}", filed.headers);
    assert!(!filed.headers.contains_key("authorization"));
    let call = system.model_calls().remove(0);
    assert!(tools(&call).contains(&"tickets__create_ticket"), "{:?}", tools(&call));
    let output = tool_output(&system);
    assert!(output.contains("\"id\":17") && output.contains("[secret]"), "{output}");
    assert!(!system.model_calls().iter().any(|call| call.to_string().contains(SECRET)));
}

#[tokio::test]
async fn secret_is_nowhere_in_the_data_folder_the_logs_or_the_api() {
    let target = Target::start().await;
    let folder = tempfile::tempdir().unwrap();
    let system =
        System::with(local::Options { data: Data::Folder(folder.path().to_owned()), ..options() }).await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    help_desk(&olga, &target).await;
    ada.execute(&asks("helper", &files("x"))).await.result();
    let read = olga.get(&CONNECTIONS.context("tickets")).await;
    assert!(!read.text.contains(SECRET), "{}", read.text);
    assert_eq!(olga.get(&connection_secret("tickets")).await.status, 405);
    system.cloud.shutdown().await;
    let mut files = 0;
    search(folder.path(), &mut files);
    assert!(files > 5, "{files} files");
}

fn search(folder: &Path, files: &mut usize) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, files);
            continue;
        }
        *files += 1;
        let bytes = std::fs::read(&path).unwrap();
        let holds = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!holds, "{} holds the secret", path.display());
    }
}

#[tokio::test]
async fn secret_survives_a_restart_of_the_local_cloud() {
    let target = Target::start().await;
    let folder = tempfile::tempdir().unwrap();
    let start = || System::with(local::Options { data: Data::Folder(folder.path().to_owned()), ..options() });
    let system = start().await;
    help_desk(&operator(&system, "acme"), &target).await;
    system.cloud.shutdown().await;
    let system = start().await;
    system.client("acme", "ada").execute(&asks("helper", &files("again"))).await.result();
    assert_eq!(target.received().len(), 1);
    assert_eq!(target.received()[0].headers["x-api-key"], SECRET);
}

#[tokio::test]
async fn only_operators_write_connections_and_their_secrets() {
    let (system, target) = (System::start().await, Target::start().await);
    let (olga, eddie, ada) =
        (operator(&system, "acme"), editor(&system, "acme"), system.client("acme", "ada"));
    help_desk(&olga, &target).await;
    let path = CONNECTIONS.context("tickets");
    for client in [&eddie, &ada] {
        assert_eq!(put(client, &path, &tickets(&target.url)).await.status, 403);
        assert_eq!(client.send(Method::DELETE, &path, None).await.status, 403);
        assert_eq!(set_secret(client, "tickets").await.status, 403);
        let trial = json!({ "Tool": "broken", "ArgumentsJson": "{}" }).to_string();
        assert_eq!(client.post(&tool_trial("tickets"), trial).await.status, 403);
        let back = json!({ "Version": 1 }).to_string();
        assert_eq!(client.post(&CONNECTIONS.rollback("tickets"), back).await.status, 403);
    }
    assert_eq!(eddie.get(&path).await.result()["Content"]["Protocol"], "http");
    assert_eq!(ada.get(&path).await.status, 403);
    assert_eq!(target.received().len(), 0);
}

#[tokio::test]
async fn connection_of_another_org_can_not_be_named_or_used() {
    let (system, target) = (System::start().await, Target::start().await);
    help_desk(&operator(&system, "acme"), &target).await;
    let other = operator(&system, "evil");
    for path in [CONNECTIONS.context("tickets"), CONNECTIONS.versions("tickets")] {
        assert_eq!(other.get(&path).await.error(), "ConnectionNotFound");
    }
    assert_eq!(set_secret(&other, "tickets").await.error(), "ConnectionNotFound");
    let agent = put(&other, &AGENTS.context("thief"), &json!({ "Name": "T", "Tools": ["tickets"] })).await;
    assert_eq!(agent.status, 400);
    assert!(messages(&agent).contains("Tools[0]: the org has no connection \"tickets\""), "{}", agent.text);
    // The same id in the other org has no secret, so nothing is sent.
    put(&other, &CONNECTIONS.context("tickets"), &tickets(&target.url)).await.result();
    put(&other, &AGENTS.context("thief"), &json!({ "Name": "T", "Tools": ["tickets"] })).await.result();
    system.client("evil", "eve").execute(&asks("thief", &files("x"))).await.result();
    assert!(tool_output(&system).contains("has no secret"), "{}", tool_output(&system));
    assert_eq!(target.received().len(), 0);
}

#[tokio::test]
async fn agent_that_a_connection_does_not_admit_gets_no_tools() {
    let (system, target) = (System::start().await, Target::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let mut connection = tickets(&target.url);
    connection["Agents"] = json!(["helper"]);
    put(&olga, &CONNECTIONS.context("tickets"), &connection).await.result();
    set_secret(&olga, "tickets").await.result();
    let other = put(&olga, &AGENTS.context("other"), &json!({ "Name": "O", "Tools": ["tickets"] })).await;
    assert!(messages(&other).contains("doesn't admit this agent"), "{}", other.text);
    // A conversation may meet any agent, so the turn decides.
    let conversation = json!({ "Name": "C", "System": "Help.", "Tools": ["tickets"] });
    put(&olga, &CONVERSATION_CONTEXTS.context("c"), &conversation).await.result();
    put(&olga, &AGENTS.context("other"), &json!({ "Name": "O" })).await.result();
    put(&olga, &AGENTS.context("helper"), &json!({ "Name": "H" })).await.result();
    for (agent, has_tools) in [("helper", true), ("other", false)] {
        let mut turn = asks(agent, "say \"hi\"");
        turn["ConversationContextId"] = json!("c");
        let answer = ada.execute(&turn).await;
        let call = system.last_call();
        assert_eq!(tools(&call).contains(&"tickets__create_ticket"), has_tools, "{agent}");
        assert_eq!(answer.text.contains("doesn't admit the agent"), !has_tools, "{}", answer.text);
    }
}

#[tokio::test]
async fn wrong_names_of_tools_are_refused_when_a_document_is_written() {
    let (system, target) = (System::start().await, Target::start().await);
    let olga = operator(&system, "acme");
    help_desk(&olga, &target).await;
    let client_tool = json!([{ "Name": "tickets__create_ticket", "Description": "d", "ExecutedBy": "client",
        "Parameters": { "type": "object", "properties": {} } }]);
    for (document, expected) in [
        (json!({ "Name": "A", "Tools": ["nobody"] }), "Tools[0]: the org has no connection \"nobody\""),
        (
            json!({ "Name": "A", "Tools": ["tickets.gone"] }),
            "Tools[0]: the connection \"tickets\" has no tool \"gone\"",
        ),
        (json!({ "Name": "A", "Tools": ["tickets", "tickets"] }), "Tools[1]: \"tickets\" is listed twice"),
        (json!({ "Name": "A", "Tools": ["Tickets!"] }), "Tools[0]: must be the id of a connection"),
        (
            json!({ "Name": "A", "Tools": ["tickets"], "ClientTools": client_tool }),
            "is the name of a client tool too",
        ),
    ] {
        let answer = put(&olga, &AGENTS.context("a"), &document).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(messages(&answer).contains(expected), "{expected}: {}", answer.text);
    }
    assert_eq!(olga.get(&AGENTS.context("a")).await.status, 404, "nothing was written");
}

#[tokio::test]
async fn faults_of_a_connection_name_their_member() {
    let (system, target) = (System::start().await, Target::start().await);
    let olga = operator(&system, "acme");
    let with = |pointer: &str, value: Value| {
        let mut connection = tickets(&target.url);
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        connection.pointer_mut(parent).unwrap()[member] = value;
        connection
    };
    for (connection, expected) in [
        (with("/Protocol", json!("gopher")), "Protocol: unknown variant `gopher`"),
        (with("/Authentication", json!({ "Scheme": "header" })), "Authentication.Header: is required"),
        (
            with("/Authentication", json!({ "Scheme": "header", "Header": "Host" })),
            "Authentication.Header: must be a header",
        ),
        (with("/Tools/0/Path", json!("/a/{gone}")), "Tools[0].Path: names \"gone\""),
        (with("/Tools/0/Path", json!("/../admin")), "Tools[0].Path: must not have segments"),
        (with("/Tools/0/Name", json!("x".repeat(60))), "Tools[0].Name: is too long"),
        (with("/Tools/0/Name", json!("broken")), "Tools[2].Name: is the name of another tool"),
        (with("/Tools/0/LookupPath", json!("/found")), "Tools[0].LookupPath: must be a path with {key}"),
        (with("/Tools/0/Class", json!("maybe")), "Tools[0]: unknown variant `maybe`"),
        (with("/Tools/0/Parameters", json!({ "type": "string" })), "Tools[0].Parameters: needs a schema"),
        (with("/Url", json!("ftp://example.com")), "Url: must begin with https://"),
    ] {
        let answer = put(&olga, &CONNECTIONS.context("tickets"), &connection).await;
        assert_eq!(answer.status, 400, "{expected}: {}", answer.text);
        assert!(messages(&answer).contains(expected), "{expected}: {}", messages(&answer));
    }
    let secret = set_secret(&olga, "tickets").await;
    assert_eq!(secret.error(), "ConnectionNotFound");
    put(&olga, &CONNECTIONS.context("tickets"), &tickets(&target.url)).await.result();
    for body in [r#"{}"#, r#"{"Value":""}"#, r#"{"Value":"a b"}"#, r#"{"Value":"a\nb"}"#, r#"{"Value":7}"#] {
        let answer = olga.send(Method::PUT, &connection_secret("tickets"), Some(body.to_owned())).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text);
    }
}

#[tokio::test]
async fn removed_connection_leaves_turns_without_its_tools_and_a_warning() {
    let (system, target) = (System::start().await, Target::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    help_desk(&olga, &target).await;
    olga.send(Method::DELETE, &CONNECTIONS.context("tickets"), None).await.result();
    system.crash_execute().await;
    let answer = ada.execute(&asks("helper", "say \"hi\"")).await;
    assert!(answer.text.contains("The org has no connection tickets."), "{}", answer.text);
    assert!(!tools(&system.last_call()).contains(&"tickets__create_ticket"));
}

#[tokio::test]
async fn policy_of_the_org_refuses_tools_of_connections() {
    let (system, target) = (System::start().await, Target::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    help_desk(&olga, &target).await;
    for (tools, status) in
        [(json!(["publish_file"]), 403), (json!(["tickets"]), 200), (json!(["tickets.create_ticket"]), 200)]
    {
        put(&olga, ORG_SETTINGS, &json!({ "Policy": { "Tools": tools } })).await.result();
        system.crash_execute().await;
        let answer = ada.execute(&asks("helper", "say \"hi\"")).await;
        assert_eq!(answer.status, status, "{tools}: {}", answer.text);
    }
}

#[tokio::test]
async fn operator_tries_a_tool_and_sees_the_outcome() {
    let (system, target) = (System::start().await, Target::start().await);
    let olga = operator(&system, "acme");
    put(&olga, &CONNECTIONS.context("tickets"), &tickets(&target.url)).await.result();
    let trial = async |tool: &str, arguments: &str| {
        let body = json!({ "Tool": tool, "ArgumentsJson": arguments });
        olga.post(&tool_trial("tickets"), body.to_string()).await
    };
    let right = r#"{"project":"p","title":"t"}"#;
    let unset = trial("create_ticket", right).await.result();
    assert_eq!(unset["Outcome"], "not_sent", "{unset}");
    set_secret(&olga, "tickets").await.result();
    let done = trial("create_ticket", right).await.result();
    assert_eq!((&done["Outcome"], &done["Result"]["id"]), (&json!("done"), &json!(17)), "{done}");
    assert_eq!(done["Result"]["echo"], "[secret]");
    let redirected = trial("redirect", "{}").await.result();
    assert_eq!(redirected["Outcome"], "refused", "{redirected}");
    assert!(redirected["Message"].as_str().unwrap().contains("isn't followed"), "{redirected}");
    let broken = trial("broken", "{}").await.result();
    assert_eq!(broken["Outcome"], "unknown", "{broken}");
    assert_eq!(target.received().len(), 3, "each call is sent once");
    for (tool, arguments, member) in [
        ("gone", "{}", "Tool"),
        ("create_ticket", "{}", "ArgumentsJson"),
        ("create_ticket", "{", "ArgumentsJson"),
    ] {
        let answer = trial(tool, arguments).await;
        assert_eq!((answer.status, answer.error().as_str()), (400, "MemberInvalid"));
        assert!(messages(&answer).starts_with(member), "{}", messages(&answer));
    }
    assert_eq!(target.received().len(), 3);
}

#[tokio::test]
async fn moved_connection_does_not_take_its_secret_along() {
    let (system, target, thief) = (System::start().await, Target::start().await, Target::start().await);
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    help_desk(&olga, &target).await;
    put(&olga, &CONNECTIONS.context("tickets"), &tickets(&thief.url)).await.result();
    system.crash_execute().await;
    ada.execute(&asks("helper", &files("x"))).await.result();
    assert!(tool_output(&system).contains("was set for another host"), "{}", tool_output(&system));
    assert_eq!(thief.received().len(), 0);
}

#[tokio::test]
async fn command_line_writes_a_connection_sets_its_secret_and_tries_a_tool() {
    let target = Target::start().await;
    let folder = tempfile::tempdir().unwrap();
    let system =
        System::with(local::Options { data: Data::Folder(folder.path().join("data")), ..options() }).await;
    let mut connection = tickets(&target.url);
    connection["Id"] = json!("tickets");
    let file = folder.path().join("tickets.json");
    std::fs::write(&file, connection.to_string()).unwrap();
    let token = system.cloud.token(&Identity { operator: true, ..Identity::user("acme", "olga") }).unwrap();
    let api = ["--api-url", system.cloud.url(), "--token", token.as_str()];
    let run = async |arguments: &[&str], input: &str| {
        let stdin = folder.path().join("stdin");
        std::fs::write(&stdin, input).unwrap();
        let mut command = aptix(&[&["connections"], arguments, &api[..]].concat(), &[]);
        let done = command.stdin(std::fs::File::open(stdin).unwrap()).output().await.unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    let (status, output, errors) = run(&["put", file.to_str().unwrap()], "").await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("Saved tickets as 1-"), "{output}");
    let (status, output, errors) = run(&["secret", "tickets"], &format!("{SECRET}\n")).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("is stored") && !format!("{output}{errors}").contains(SECRET), "{output}");
    let arguments = r#"{"project":"p","title":"From the terminal"}"#;
    let (status, output, errors) = run(&["try", "tickets.create_ticket", arguments], "").await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("\"id\": 17") && output.contains("(done in "), "{output}");
    let (status, _, errors) = run(&["try", "tickets.broken"], "").await;
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("(unknown after "), "{errors}");
    let (_, output, _) = run(&["list"], "").await;
    assert!(output.starts_with("tickets "), "{output}");
    let (_, output, _) = run(&["history", "tickets"], "").await;
    assert!(output.contains("olga"), "{output}");
}

/// The commands of the guide, with another port, and with the target of this test in place of its Python program.
#[tokio::test]
async fn guide_files_a_ticket_as_pasted() {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/connections.md"))
            .unwrap();
    let (_, section) = guide.split_once("\n## An agent that files a ticket").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let target = Target::start().await;
    let port = target.url.rsplit(':').next().unwrap();
    let script: String = blocks.filter(|block| !block.contains("tickets.py")).collect();
    let script = script.replace("8123", port).replace("my-key", SECRET);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let system = System::with(local::Options { data: Data::Folder(data.clone()), ..options() }).await;
    let program = Path::new(env!("CARGO_BIN_EXE_aptix")).parent().unwrap().to_owned();
    let path = std::env::join_paths([program, "/usr/bin".into(), "/bin".into()]).unwrap();
    let token = system.cloud.token(&Identity { operator: true, ..Identity::user("acme", "olga") }).unwrap();
    let environment = [
        ("PATH", path.to_str().unwrap()),
        ("APTIX_URL", system.cloud.url()),
        ("APTIX_TOKEN", token.as_str()),
        ("XDG_STATE_HOME", "/dev/null/none"),
    ];
    let mut shell = tokio::process::Command::new("sh");
    let shell = shell.args(["-e", "-c", &script]).env_clear().envs(environment).current_dir(folder.path());
    let done = shell.stdin(std::process::Stdio::null()).output().await.unwrap();
    let (output, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{output}\n{errors}");
    for expected in
        ["Saved tickets as 1-", "is stored. It is sent to 127.0.0.1:", "\"id\": 17", "Filed as 17."]
    {
        assert!(output.contains(expected), "{expected}: {output}\n{errors}");
    }
    let titles: Vec<String> = target.received().into_iter().map(|received| received.body).collect();
    assert_eq!(titles, [r#"{"title":"Printer on fire"}"#, r#"{"title":"Printer on fire"}"#]);
}
