//! Feature table of providers. docs/guides/providers.md holds it, with the command that prints it.

use std::time::{Duration, Instant};

use aws_credential_types::provider::SharedCredentialsProvider;
use local::Options;
use serde_json::{Value, json};

use crate::{
    bedrock,
    cancel::cancel,
    client_tools::{results, submit},
    support::{
        Client, NamedProvider, PATIENCE, System, answer_text, final_text_and_result, is_chained,
        mock_profile, options, turn_in, with_workspace,
    },
};

const PROVIDERS: [&str; 8] =
    ["openai", "openai-zdr", "azure", "openrouter", "vllm", "ollama", "lmstudio", "llamacpp"];

/// The wires besides the Responses API, whose providers store no responses.
const WIRES: [&str; 3] = ["chat-completions", "anthropic-messages", "bedrock-converse"];

/// The endpoints of Amazon Bedrock with the Responses API, and the service that their signatures name.
const SIGNED: [(&str, &str); 2] = [("bedrock-runtime", "bedrock"), ("bedrock-mantle", "bedrock-mantle")];

const COLUMNS: [&str; 9] = [
    "second turn",
    "server tool",
    "client tool",
    "file of turn one, after a rebuild",
    "context overflow",
    "stream",
    "structured output",
    "cancel",
    "fallback to another wire",
];

/// The model calls that each needs where none is in vain: a tool round takes two, one that has to be told again takes one
/// more, and a fallback takes the failed call and its own.
const NEEDED: [usize; 9] = [1, 2, 2, 1, 2, 1, 1, 1, 2];

/// One session with one provider, turn after turn.
struct Talk {
    system: System,
    ada: Client,
    /// The provider, unless it is the system's own mock model.
    named: Option<NamedProvider>,
    /// A provider of another wire.
    other: NamedProvider,
    calls: usize,
}

impl Talk {
    async fn with(provider: &str) -> Self {
        let other = NamedProvider::with_profile("openai").await;
        // The others have the Responses API.
        let wire = if WIRES.contains(&provider) { "responses" } else { "chat-completions" };
        let mut declared = vec![json!({
            "Name": "other", "BaseUrl": other.base, "Wire": wire, "KeySetting": "OPENAI_API_KEY",
        })];
        let mut environment: Vec<(&str, String)> = Vec::new();
        let mut named = None;
        let mut options = match SIGNED.iter().find(|(name, _)| *name == provider) {
            Some((_, service)) => {
                let signed = NamedProvider::signed(bedrock::check(service)).await;
                declared.push(bedrock::declaration("responses", &signed, service));
                named = Some(signed);
                environment.push(("MODEL_PROVIDER", "bedrock".to_owned()));
                let credentials = SharedCredentialsProvider::new(bedrock::valid_credentials());
                Options { aws_credentials: Some(credentials), ..options() }
            }
            None if WIRES.contains(&provider) => {
                environment.push(("OPENAI_WIRE", provider.to_owned()));
                options()
            }
            None => mock_profile(provider),
        };
        environment.push(("MODEL_PROVIDERS", Value::from(declared).to_string()));
        options.environment.extend(environment.into_iter().map(|(name, value)| (name.to_owned(), value)));
        let system = System::with(options).await;
        let ada = system.client("acme", "ada");
        Self { system, ada, named, other, calls: 0 }
    }

    /// Returns the bodies of the provider's requests.
    fn requests(&self) -> Vec<Value> {
        self.named.as_ref().map_or_else(|| self.system.model_calls(), NamedProvider::calls)
    }

    fn abandoned(&self) -> usize {
        let own = || self.system.cloud.model().map_or(0, |model| model.abandoned());
        self.named.as_ref().map_or_else(own, NamedProvider::abandoned)
    }

    /// Returns the number of model calls since the last check, if the newest one includes the first instruction.
    fn cell(&mut self, provider: &str, answer: &str, wanted: &str) -> usize {
        assert_eq!(answer, wanted, "{provider}");
        let calls = self.requests();
        let newest = calls.last().unwrap();
        let knows = is_chained(newest) || newest.to_string().contains("The word is plum.");
        assert!(knows, "{provider} forgot: {newest}");
        let made = calls.len() - self.calls;
        self.calls = calls.len();
        made
    }

    async fn says(&self, instruction: &str) -> String {
        answer_in(&self.ada.execute(&turn_in("s", instruction)).await.result())
    }

    async fn row(mut self, provider: &str) -> [usize; 9] {
        let mut first = with_workspace(turn_in("s", "The word is plum. [[script: say \"Noted.\"]]"));
        first["InputArtifacts"] = json!([{
            "RelativePath": "src/a.rs", "FileName": "a.rs", "Contents": "fn hidden() {}", "Origin": "ide",
        }]);
        assert_eq!(answer_in(&self.ada.execute(&first).await.result()), "Noted.");
        self.calls = self.requests().len();

        let said = self.says("Second [[script: say \"Two.\"]]").await;
        let second = self.cell(provider, &said, "Two.");

        let said = self.says("Third [[script: call agent_list_modes {}; then; say \"Listed.\"]]").await;
        let server_tool = self.cell(provider, &said, "Listed.");

        let ask = "Fourth [[script: call workspace_read_file {\"path\":\"b.rs\"}; then; say \"Read.\"]]";
        let continuation = self.ada.execute(&turn_in("s", ask)).await.result();
        let answer = submit(&self.ada, &results(&continuation, "fn b() {}")).await.result();
        let client_tool = self.cell(provider, &answer_in(&answer), "Read.");

        let stream = self.ada.execute_streaming(&turn_in("s", "Fifth [[script: words 4000]]"), None).await;
        let Ok(stream) = stream else { panic!("{provider} does not stream") };
        let (text, result) = final_text_and_result(&stream.rest().await);
        let stream = self.cell(provider, &text, &answer_text(&result));

        // A chain that was kept is lost here, and so it is told again; nothing is lost where nothing was kept.
        let said = self.says("What is in it? [[script: forget; say \"It is hidden.\"]]").await;
        let newest = self.requests().pop().unwrap();
        assert!(newest.to_string().contains("fn hidden() {}"), "{provider} has no file");
        let file = self.cell(provider, &said, "It is hidden.");

        // The words that were streamed are too many.
        let long = turn_in("s", "Sixth [[script: overflow over 3000; say \"It fits.\"]]");
        let shortened = self.ada.execute(&long).await.result();
        assert_eq!(answer_in(&shortened), "It fits.", "{provider}");
        // The file is told, or both the model and the user are told that it is not.
        let newest = self.requests().pop().unwrap().to_string();
        let warned = shortened["UserWarnings"].to_string();
        let named = newest.contains("src/a.rs (") && newest.contains("not repeated");
        let known = newest.contains("fn hidden() {}") || named && warned.contains("src/a.rs (");
        assert!(known, "{provider} forgot the file: {warned} {newest}");
        let overflow = self.requests().len() - self.calls;

        let [format, cancelled, fallback] = self.in_contexts(provider).await;
        self.system.cloud.shutdown().await;
        [second, server_tool, client_tool, file, overflow, stream, format, cancelled, fallback]
    }

    /// Runs the turns of the last three columns in sessions with contexts of their own.
    async fn in_contexts(&mut self, provider: &str) -> [usize; 3] {
        let schema = json!({
            "type": "object", "properties": { "verdict": { "type": "string" } }, "required": ["verdict"],
            "additionalProperties": false,
        });
        let context = |id: &str, member: &str, value: Value| {
            let mut context = json!({ "Kind": "conversation", "Id": id, "Name": id, "System": "Be brief." });
            context[member] = value;
            context
        };
        self.system
            .put_contexts(
                "acme",
                &json!([
                    context(
                        "json",
                        "TextFormat",
                        json!({ "Name": "verdict", "Schema": schema, "Strict": true })
                    ),
                    context("moves", "Fallbacks", json!([{ "Provider": "other", "ModelName": "next" }])),
                ]),
            )
            .await;
        let in_context = |id: &str, instruction: &str| {
            let mut turn = turn_in(id, instruction);
            turn["ConversationContextId"] = json!(id);
            turn
        };
        // The first turn that goes on from another is told again where that is refused, as in the first column.
        for id in ["json", "moves"] {
            for instruction in ["The word is plum.", "Second"] {
                let turn = in_context(id, &format!("{instruction} [[script: say \"{{}}\"]]"));
                self.ada.execute(&turn).await.result();
            }
        }
        self.calls = self.requests().len();

        let ask = in_context("json", r#"Judge [[script: say "{\"verdict\":\"yes\"}"]]"#);
        let said = answer_in(&self.ada.execute(&ask).await.result());
        let format = self.cell(provider, &said, "```json\n{\"verdict\":\"yes\"}\n```");
        let newest = self.requests().pop().unwrap().to_string();
        assert!(newest.contains("verdict") && newest.contains("json_schema"), "{provider}: {newest}");

        let abandoned = self.abandoned();
        let hanging = in_context("moves", "Think [[script: say \"So\"; hang 100s; say \"it is.\"]]");
        let closed = async {
            let started = Instant::now();
            let wait = async || {
                assert!(started.elapsed() < PATIENCE, "{provider}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            };
            while self.requests().len() == self.calls {
                wait().await;
            }
            cancel(&self.ada, &hanging).await;
            while self.abandoned() == abandoned {
                wait().await;
            }
        };
        let (answer, ()) = futures::join!(self.ada.execute(&hanging), closed);
        let cancelled = self.cell(provider, &answer.error(), "TurnCancelled");

        let script = "Again [[script: status 503 for scripted x-should-retry false; say \"Moved.\"]]";
        let moved = self.ada.execute(&in_context("moves", script)).await.result();
        let fallback = self.cell(provider, &answer_in(&moved), "Moved.");
        let others = self.other.calls();
        let newest = others.last().unwrap();
        assert!(newest["model"] == "next" && newest.to_string().contains("The word is plum."), "{newest}");
        for invalid in [self.other.invalid_requests(), self.invalid_requests()] {
            assert_eq!(invalid, [] as [&str; 0], "{provider}");
        }
        [format, cancelled, fallback + others.len()]
    }

    fn invalid_requests(&self) -> Vec<String> {
        let own = || self.system.cloud.model().map(|model| model.invalid_requests()).unwrap_or_default();
        self.named.as_ref().map_or_else(own, NamedProvider::invalid_requests)
    }
}

fn answer_in(result: &Value) -> String {
    result["PrimaryOutputText"].as_str().unwrap_or_else(|| panic!("no answer: {result}")).to_owned()
}

/// The table as Markdown: the model calls that each took.
fn table(rows: &[(&str, [usize; 9])]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = std::iter::once("provider").chain(COLUMNS).map(str::to_owned).collect();
    let rule = format!("|---{}|\n", "|---".repeat(COLUMNS.len()));
    let rows = rows.iter().map(|(provider, cells)| {
        line(std::iter::once(format!("`{provider}`")).chain(cells.iter().map(usize::to_string)).collect())
    });
    [line(head), rule].into_iter().chain(rows).collect()
}

#[tokio::test]
async fn every_feature_works_with_every_provider_without_extra_calls() {
    let mut rows = Vec::new();
    for provider in PROVIDERS.into_iter().chain(SIGNED.map(|(name, _)| name)).chain(WIRES) {
        rows.push((provider, Talk::with(provider).await.row(provider).await));
    }
    let table = table(&rows);
    println!("{table}");
    for (provider, cells) in rows {
        // Those that are silent about it refuse once, in the first turn that goes on from another; a chain
        // that was kept is refused once when it was lost.
        let keepers = ["openai", "azure", "lmstudio", "bedrock-runtime", "bedrock-mantle"];
        let (refuses, keeps) = (["vllm", "llamacpp"].contains(&provider), keepers.contains(&provider));
        let in_vain = [usize::from(refuses), 0, 0, usize::from(keeps), 0, 0, 0, 0, 0];
        // It cuts what is too long in silence.
        let cut = usize::from(provider == "ollama");
        for (place, needed) in NEEDED.into_iter().enumerate() {
            let needed = needed + in_vain[place] - if place == 4 { cut } else { 0 };
            assert_eq!(cells[place], needed, "{provider}, {}", COLUMNS[place]);
        }
    }
    let kept = include_str!("../../docs/guides/providers.md");
    assert!(kept.contains(&table), "docs/guides/providers.md keeps another table than\n{table}");
}
