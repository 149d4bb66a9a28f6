//! Every JSON document and every `curl` of the guides, the first minutes and the README, sent to a local cloud.

use std::path::{Path, PathBuf};

use contracts::{
    paths,
    request::{EffectResolution, KnowledgeUpload},
};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    export::operator,
    support::{Answer, Client, System, declaring, turn},
};

/// Blocks that can't run here: page, beginning of the block, and why.
const NOT_RUN: [(&str, &str, &str); 4] = [
    ("docs/guides/agents-cli.md", "{", "files of other programs, which scripts/agents runs as pasted"),
    (
        "docs/guides/agents.md",
        "{\n  \"PK\"",
        "contexts.rs compares them with the items that `contexts put` writes",
    ),
    (
        "docs/guides/connections.md",
        "{\n  \"Kind\": \"connection\",\n  \"Id\": \"orders\"",
        "a function of AWS; connection_functions.rs has one of its own",
    ),
    ("docs/guides/deploying.md", "[\n  {\"Sid\"", "a key policy, which only AWS KMS reads"),
];

/// Minimum number of blocks to run. With fewer, the test no longer finds them.
const MIN_BLOCKS: usize = 21;

/// A fenced block of a page.
struct Block {
    page: String,
    language: String,
    text: String,
}

impl Block {
    fn is_run(&self) -> bool {
        let is_code = self.language == "json" || self.language == "sh" && self.text.contains("curl ");
        is_code
            && !NOT_RUN.iter().any(|(page, begins, _)| self.page == *page && self.text.starts_with(begins))
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the pages with their blocks, in order.
fn pages() -> Vec<Vec<Block>> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs/guides", "docs/start"] {
        for entry in std::fs::read_dir(repository().join(folder)).unwrap() {
            pages.push(format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()));
        }
    }
    pages.sort_unstable();
    pages
        .iter()
        .map(|page| blocks(page, &std::fs::read_to_string(repository().join(page)).unwrap()))
        .collect()
}

fn blocks(page: &str, text: &str) -> Vec<Block> {
    let (mut blocks, mut open) = (Vec::new(), None);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let language = info.split_whitespace().next().unwrap_or_default().to_owned();
                open = Some(Block { page: page.to_owned(), language, text: String::new() });
            }
            Event::Text(text) => open.iter_mut().for_each(|block| block.text.push_str(&text)),
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// A `curl` of a page.
#[derive(Debug)]
struct Curl {
    method: Method,
    /// Path and query below the API's host.
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// Splits a script into commands, and each into words, as a shell does. Variables stay.
fn commands(script: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {}
                next => word.get_or_insert_default().extend(next),
            },
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    match c {
                        '\\' => word.extend(chars.next()),
                        _ => word.push(c),
                    }
                }
            }
            '$' if chars.peek() == Some(&'(') => {
                // The only commands within commands write tokens.
                let word = word.get_or_insert_default();
                word.push('$');
                word.extend(chars.by_ref().take_while(|c| *c != ')'));
            }
            ' ' | '\t' => words.extend(word.take()),
            '\n' | ';' | '|' | '&' => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    commands.push(words);
    commands
}

/// Returns the request of a command, if it is a `curl`.
fn curl(command: &[String]) -> Option<Curl> {
    let at = command.iter().position(|word| !matches!(word.as_str(), "until" | "while" | "if"))?;
    let (_, arguments) = command[at..].split_first().filter(|(first, _)| *first == "curl")?;
    let mut words = arguments.iter();
    let mut curl =
        Curl { method: Method::GET, path: String::new(), headers: Vec::new(), body: String::new() };
    let mut method = None;
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{command:?} ends with {word}")).as_str();
        match word.as_str() {
            "-s" | "-sN" | "-N" => {}
            "-o" | ">" => _ = value(),
            "-X" => method = Some(value().parse().unwrap()),
            "-H" => {
                let header = value();
                let (name, text) = header.split_once(": ").unwrap_or(("authorization", header));
                curl.headers.push((name.to_lowercase(), text.to_owned()));
            }
            "-d" => {
                value().clone_into(&mut curl.body);
                curl.method = Method::POST;
            }
            url if !url.starts_with('-') && curl.path.is_empty() => curl.path = path(url),
            other => panic!("{other:?} of {command:?} is not known to this test"),
        }
    }
    curl.method = method.unwrap_or(curl.method);
    Some(curl)
}

/// Returns the path of a URL: of the local cloud, of a placeholder, or below a variable.
fn path(url: &str) -> String {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => &url[url.find('/').expect("a path")..],
    };
    let is_below_api = url.starts_with("$API/") && !path.starts_with(paths::PREFIX);
    if is_below_api { format!("{}{}", paths::PREFIX, &path[1..]) } else { path.to_owned() }
}

/// The pages' reader: a user, who is an operator too for what only operators may do.
struct Reader {
    system: System,
    ada: Client,
    operator: Client,
}

impl Reader {
    async fn start() -> Self {
        // Names that the guides' contexts refer to.
        let provider = |name: &str| json!({"Name": name, "BaseUrl": "http://127.0.0.1:9/v1"});
        let declared = json!([provider("azure"), provider("openrouter")]);
        let system = System::with(declaring(&declared)).await;
        Self { ada: system.client("acme", "ada"), operator: operator(&system, "acme"), system }
    }

    async fn put(&self, path: &str, document: &Value) -> Answer {
        self.operator.send(Method::PUT, path, Some(document.to_string())).await
    }

    /// Writes a document where it belongs.
    async fn write(&self, document: &Value) {
        let below =
            |folder: &str, id: &str| format!("{}{folder}/{}", paths::PREFIX, document[id].as_str().unwrap());
        let answer = match (document, document["Kind"].as_str()) {
            (Value::Array(entries), _) if entries.iter().all(|entry| entry.get("Kind").is_some()) => {
                return self.system.put_contexts("acme", document).await;
            }
            (Value::Array(entries), _) if entries.iter().all(|entry| entry.get("BaseUrl").is_some()) => {
                let system = System::with(declaring(document)).await;
                system.client("acme", "ada").execute(&turn("Hello")).await
            }
            (_, Some("connection")) => self.put(&below("connections", "Id"), document).await,
            (_, Some("mode")) => self.put(&below("modes", "Key"), document).await,
            (_, Some("conversation")) => self.put(&below("conversation-contexts", "Id"), document).await,
            _ if document.get("Budgets").is_some() => self.put(paths::BUDGETS, document).await,
            _ if document.get("SessionVisibility").is_some() => self.put(paths::ORG_SETTINGS, document).await,
            _ if document.get("HostedTools").is_some() => {
                let mut context = json!({"Name": "C", "System": "Be brief."});
                context.as_object_mut().unwrap().extend(document.as_object().unwrap().clone());
                self.put(&format!("{}conversation-contexts/c", paths::PREFIX), &context).await
            }
            // `tests/behaviour/knowledge.rs` uploads documents, to a cloud with a vector database.
            _ if document.get("ContentBase64").is_some() => {
                return drop(KnowledgeUpload::parse(document.to_string().as_bytes()).unwrap());
            }
            // A member of a connection's tool.
            _ if document.get("Approval").is_some() => {
                let mut tool = json!({
                    "Name": "refund", "Description": "Refunds an order.", "Method": "POST", "Path": "/refunds",
                    "Parameters": {"type": "object", "properties": {"amount": {"type": "number"}}},
                });
                tool.as_object_mut().unwrap().extend(document.as_object().unwrap().clone());
                let connection = json!({
                    "Kind": "connection", "Id": "shop", "Name": "Shop", "Protocol": "http",
                    "Url": "http://127.0.0.1:9/v1", "Tools": [tool],
                });
                self.put(&format!("{}connections/shop", paths::PREFIX), &connection).await
            }
            // `tests/behaviour/effects.rs` resolves calls, after it killed a function.
            _ if document.get("EffectId").is_some() => {
                return drop(EffectResolution::parse(document.to_string().as_bytes()).unwrap());
            }
            // Settings of an MCP client, which `tests/behaviour/mcp` connects.
            _ if document.get("mcpServers").is_some() => return,
            _ => panic!("this test doesn't know what this document is: {document}"),
        };
        answer.result();
    }

    /// Runs the commands of a script that this test knows: contexts in a file of their own, and `curl`.
    async fn run(&self, block: &Block) -> usize {
        let Block { page, text, .. } = block;
        let mut script = text.clone();
        while let Some((before, rest)) = script.split_once("<<'END'\n") {
            let (document, after) = rest.split_once("\nEND\n").expect("an end");
            self.write(&serde_json::from_str(document).unwrap()).await;
            script = format!("{before}\n{after}");
        }
        let mut sent = 0;
        for command in commands(&script) {
            if let Some(curl) = curl(&command) {
                sent += 1;
                self.send(page, curl).await;
            }
        }
        sent
    }

    async fn send(&self, page: &str, mut curl: Curl) {
        if curl.path == paths::TOOL_RESULTS {
            self.suspend(&mut curl.body).await;
        }
        let is_authorized = curl.headers.iter().any(|(name, _)| name == "authorization");
        // Below `sam local` and `cargo lambda`, there is no authorizer.
        let is_local = page == "docs/guides/developing.md" || curl.path == "/openapi.yaml";
        assert!(is_authorized || is_local, "{page}: a request without a token: {curl:?}");
        let client = if curl.method == Method::PUT { &self.operator } else { &self.ada };
        let headers: Vec<_> =
            curl.headers.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let headers: Vec<_> = headers.into_iter().filter(|(name, _)| *name != "authorization").collect();
        let answer =
            client.raw(curl.method.clone(), &curl.path, &headers, curl.body.clone().into_bytes()).await;
        let result = answer.text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        let envelope: Value = serde_json::from_str(result.unwrap_or(&answer.text)).unwrap_or_default();
        let is_successful = envelope.get("Successful").is_none_or(|successful| *successful == true);
        assert!(answer.status == 200 && is_successful, "{page}: {curl:?}\n{}", answer.text);
    }

    /// Suspends the turn that results are for, and gives them the id of its call.
    async fn suspend(&self, body: &mut String) {
        let results: Value = serde_json::from_str(body).unwrap();
        let request = json!({
            "SessionId": results["SessionId"], "TurnId": results["TurnId"], "AgentContextId": "editor",
            "Instruction": "Open it [[script: call editor_open {\"path\":\"main.rs\"}; then; say \"It is open.\"]]",
        });
        let suspended = self.ada.execute(&request).await.result();
        let [call] = &suspended["ToolCalls"].as_array().unwrap()[..] else { panic!("{suspended}") };
        let shown = results["ToolResults"][0]["ToolCallId"].as_str().unwrap();
        *body = body.replace(shown, call["ToolCallId"].as_str().unwrap());
    }
}

#[tokio::test]
async fn every_json_and_curl_of_the_guides_works() {
    let mut found = 0;
    for page in pages() {
        let blocks: Vec<_> = page.iter().filter(|block| block.is_run()).collect();
        if blocks.is_empty() {
            continue;
        }
        found += blocks.len();
        let reader = Reader::start().await;
        for block in blocks {
            if block.language == "json" {
                let document = serde_json::from_str(&block.text);
                reader
                    .write(
                        &document.unwrap_or_else(|error| panic!("{}: {error}: {}", block.page, block.text)),
                    )
                    .await;
            } else {
                assert!(reader.run(block).await > 0, "{}: no request in {}", block.page, block.text);
            }
        }
    }
    assert!(found >= MIN_BLOCKS, "only {found} blocks were found");
}

#[test]
fn blocks_that_are_not_run_exist() {
    let blocks: Vec<Block> = pages().into_iter().flatten().collect();
    for (page, begins, why) in NOT_RUN {
        assert!(!why.is_empty());
        let exists = blocks.iter().any(|block| block.page == page && block.text.starts_with(begins));
        assert!(exists, "{page} has no block {begins:?} any more");
    }
}

#[test]
fn commands_are_split_like_a_shell_does() {
    let script = "A=\"x $(b c)\"\ncurl -s $API/execute -H \"$AUTH\" \\\n  -d '{\"a\":\"b c\"}' | python3 -m json.tool\nuntil curl -o f http://h:1/p; do sleep 1; done";
    let commands = commands(script);
    let requests: Vec<Curl> = commands.iter().filter_map(|command| curl(command)).collect();
    let shown: Vec<_> =
        requests.iter().map(|curl| (curl.method.as_str(), curl.path.as_str(), curl.body.as_str())).collect();
    assert_eq!(shown, [("POST", "/api/ai/agent/execute", "{\"a\":\"b c\"}"), ("GET", "/p", "")]);
}
