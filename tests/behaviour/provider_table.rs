//! Feature table of providers. `scripts/providers` prints it; docs/guides/providers.md holds it.

use local::Options;
use serde_json::{Value, json};

use crate::{
    client_tools::{results, submit},
    support::{
        Client, System, answer_text, final_text_and_result, is_chained, mock_profile, options, turn_in,
        with_workspace,
    },
};

const PROVIDERS: [&str; 8] =
    ["openai", "openai-zdr", "azure", "openrouter", "vllm", "ollama", "lmstudio", "llamacpp"];

/// The wires besides the Responses API, whose providers store no responses.
const WIRES: [&str; 2] = ["chat-completions", "anthropic-messages"];

const COLUMNS: [&str; 6] = [
    "second turn",
    "server tool",
    "client tool",
    "file of turn one, after a rebuild",
    "context overflow",
    "stream",
];

/// The model calls that each needs where none is in vain: a tool round takes two, and one that has to be
/// told again takes one more.
const NEEDED: [usize; 6] = [1, 2, 2, 1, 2, 1];

/// One session with one provider, turn after turn.
struct Talk {
    system: System,
    ada: Client,
    calls: usize,
}

impl Talk {
    async fn with(provider: &str) -> Self {
        let options = match WIRES.contains(&provider) {
            false => mock_profile(provider),
            true => {
                let wire = ("OPENAI_WIRE".to_owned(), provider.to_owned());
                Options { environment: [wire].into(), ..options() }
            }
        };
        let system = System::with(options).await;
        let ada = system.client("acme", "ada");
        Self { system, ada, calls: 0 }
    }

    /// Returns the number of model calls since the last check, if the newest one includes the first instruction.
    fn cell(&mut self, provider: &str, answer: &str, wanted: &str) -> usize {
        assert_eq!(answer, wanted, "{provider}");
        let calls = self.system.model_calls();
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

    async fn row(mut self, provider: &str) -> [usize; 6] {
        let mut first = with_workspace(turn_in("s", "The word is plum. [[script: say \"Noted.\"]]"));
        first["InputArtifacts"] = json!([{
            "RelativePath": "src/a.rs", "FileName": "a.rs", "Contents": "fn hidden() {}", "Origin": "ide",
        }]);
        assert_eq!(answer_in(&self.ada.execute(&first).await.result()), "Noted.");
        self.calls = self.system.model_calls().len();

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
        let newest = self.system.model_calls().pop().unwrap();
        assert!(newest.to_string().contains("fn hidden() {}"), "{provider} has no file");
        let file = self.cell(provider, &said, "It is hidden.");

        // The words that were streamed are too many.
        let long = turn_in("s", "Sixth [[script: overflow over 3000; say \"It fits.\"]]");
        let shortened = self.ada.execute(&long).await.result();
        assert_eq!(answer_in(&shortened), "It fits.", "{provider}");
        // The file is told, or both the model and the user are told that it is not.
        let newest = self.system.model_calls().pop().unwrap().to_string();
        let warned = shortened["UserWarnings"].to_string();
        let named = newest.contains("src/a.rs (") && newest.contains("not repeated");
        let known = newest.contains("fn hidden() {}") || named && warned.contains("src/a.rs (");
        assert!(known, "{provider} forgot the file: {warned} {newest}");
        let overflow = self.system.model_calls().len() - self.calls;
        self.system.cloud.shutdown().await;
        [second, server_tool, client_tool, file, overflow, stream]
    }
}

fn answer_in(result: &Value) -> String {
    result["PrimaryOutputText"].as_str().unwrap_or_else(|| panic!("no answer: {result}")).to_owned()
}

/// The table as Markdown: the model calls that each took.
fn table(rows: &[(&str, [usize; 6])]) -> String {
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
    for provider in PROVIDERS.into_iter().chain(WIRES) {
        rows.push((provider, Talk::with(provider).await.row(provider).await));
    }
    let table = table(&rows);
    println!("{table}");
    for (provider, cells) in rows {
        // Those that are silent about it refuse once, in the first turn that goes on from another; a chain
        // that was kept is refused once when it was lost.
        let (refuses, keeps) =
            (["vllm", "llamacpp"].contains(&provider), ["openai", "azure", "lmstudio"].contains(&provider));
        let in_vain = [usize::from(refuses), 0, 0, usize::from(keeps), 0, 0];
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
