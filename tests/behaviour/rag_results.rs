//! Retrieved chunks: only of the caller's org and the request's scope, rendered and listed.

use qdrant_client::qdrant::{CreateCollection, StrictModeConfig, Value as PayloadValue};
use serde_json::{Value, json};

use crate::support::{
    Indexed, System, embedding, embeddings, options, said, session_path, set, turn, turn_in, turn_path,
    workspace_turn,
};

/// The warning of a turn whose sources could not be searched.
const SKIPPED: &str = "The indexed sources could not be searched just now, so this turn ran without them.";

fn words(words: &[&str]) -> PayloadValue {
    PayloadValue::from(words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>())
}

fn chunk(
    org: &'static str,
    path: &'static str,
    text: &'static str,
    east: f32,
    more: Vec<(&'static str, PayloadValue)>,
) -> Indexed {
    Indexed { org, path, text, at: [1.0, east, 0.0], more }
}

/// Three chunks of each of two orgs, further and further from the north.
fn chunks() -> Vec<Indexed> {
    let of = |org: &'static str| {
        let (labels, level) =
            (|slugs: &[&str]| ("LabelSlugs", words(slugs)), |level: i64| ("Level", level.into()));
        let subtype = |subtype: &'static str| ("Subtype", subtype.into());
        [
            chunk(
                org,
                "a",
                "fn keep_lease() {\n}",
                0.1,
                vec![subtype("plan"), labels(&["api", "ddr"]), level(3)],
            ),
            chunk(org, "b", "fn sweep_turns() {}", 0.2, vec![subtype("guide"), labels(&["api"]), level(5)]),
            chunk(org, "c", "fn read_session() {}", 4.0, vec![labels(&["dataset"])]),
        ]
    };
    [of("acme"), of("other")].into_iter().flatten().collect()
}

async fn system(more: &[(&str, &str)]) -> System {
    let system = System::with(set(embedding(options(), &embeddings().await), more)).await;
    system.indexed("sources", 3, &chunks()).await;
    system
}

/// The paths of what the model was told, in order.
fn told(call: &Value) -> String {
    said(call).lines().filter_map(|line| line.strip_prefix("Path: ")).collect()
}

/// Returns the paths of chunks in alphabetical order.
fn paths(refs: &Value) -> String {
    let mut paths: Vec<_> =
        refs.as_array().unwrap().iter().map(|chunk| chunk["Path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    paths.concat()
}

#[tokio::test]
async fn nearest_chunks_are_verbatim_and_listed_with_metadata() {
    let system = system(&[]).await;
    let ada = system.client("acme", "ada");
    let request = turn("Where?");
    let answer = ada.execute(&request).await.result();
    assert_eq!(answer.get("UserWarnings"), None, "{answer}");
    let chunks = chunks();
    let entries: String = (1..).zip(&chunks[..3]).map(|(number, chunk)| chunk.told(number)).collect();
    let call = said(&system.last_call());
    assert!(call.contains(&format!("[CONTEXT]\n\n{entries}")), "{call}");

    let read = ada.get(&turn_path(&request)).await.result();
    let refs = read["ChunkRefs"].as_array().unwrap();
    assert_eq!(refs.len(), 3, "{read}");
    for (found, chunk) in refs.iter().zip(&chunks) {
        assert_eq!((&found["ChunkId"], &found["Path"]), (&json!(chunk.id()), &json!(chunk.path)));
        let lines = 9 + chunk.text.lines().count();
        assert_eq!((&found["StartLine"], &found["EndLine"]), (&json!(10), &json!(lines)));
        assert_eq!(found["ContentHash"], json!(contracts::ContentHash::hash_text(chunk.text).to_string()));
    }
    let scores: Vec<f64> = refs.iter().map(|found| found["Score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a > b) && scores.iter().all(|score| *score > 0.0), "{scores:?}");
}

#[tokio::test]
async fn scope_operators_work_on_keywords_lists_numbers_and_texts() {
    let system = system(&[]).await;
    let ada = system.client("acme", "ada");
    let cases = [
        ("Subtype", "==", json!(["plan"]), "a"),
        ("Subtype", "==", json!(["plan", "guide", "plan"]), "ab"),
        ("Subtype", "!=", json!(["plan"]), "bc"),
        ("Subtype", "contains", json!(["guide"]), "b"),
        ("Subtype", "does_not_contain", json!(["guide"]), "ac"),
        ("Subtype", "contains", json!(["UID"]), "b"),
        ("Subtype", "does_not_contain", json!(["uid"]), "ac"),
        ("subtype", "==", json!(["plan"]), "a"),
        ("SUBTYPE", "does_not_contain", json!(["LA"]), "bc"),
        ("LabelSlugs", "==", json!(["ddr", "dataset"]), "ac"),
        ("LabelSlugs", "!=", json!(["ddr"]), "bc"),
        ("LabelSlugs", "contains", json!(["api"]), "ab"),
        ("LabelSlugs", "does_not_contain", json!(["api"]), "c"),
        ("Level", "==", json!([3]), "a"),
        ("Level", "!=", json!([3]), "bc"),
        ("Level", "contains", json!([5, 3]), "ab"),
        ("Level", "does_not_contain", json!([5]), "ac"),
        ("Text", "==", json!(["fn sweep_turns() {}"]), "b"),
        ("Text", "!=", json!(["fn sweep_turns() {}"]), "ac"),
        ("Text", "contains", json!(["read_session"]), "c"),
        ("Text", "does_not_contain", json!(["KEEP_LEASE"]), "bc"),
        ("Text", "contains", json!(["p_turn"]), "b"),
        ("Text", "does_not_contain", json!(["ead_sess", "p_lea"]), "b"),
        ("LabelSlugs", "contains", json!(["data"]), ""),
        ("labelSlugs", "contains", json!(["DataSet"]), "c"),
        ("Unheard", "==", json!(["x"]), ""),
        ("Unheard", "does_not_contain", json!(["x"]), "abc"),
        // The tenant is nobody's to ask for, in any spelling.
        ("OrgId", "==", json!(["other"]), "abc"),
        ("org_id", "!=", json!(["acme"]), "abc"),
    ];
    for (key, operator, values, expected) in cases {
        let mut request = turn("Where?");
        request["RagScope"] = json!({"Conditions": [{"Key": key, "Operator": operator, "Values": values}]});
        let answer = ada.execute(&request).await.result();
        let case = format!("{key} {operator} {values}");
        let warning = match key {
            "Unheard" => Some("No indexed source has the key `Unheard`, which `RagScope` names.".to_owned()),
            "OrgId" | "org_id" => {
                Some(format!("The condition of `RagScope` on `{key}` was ignored: it can't be a condition."))
            }
            _ => None,
        };
        assert_eq!(answer.get("UserWarnings"), warning.map(|text| json!([text])).as_ref(), "{case}");
        let call = system.last_call();
        assert_eq!(told(&call), expected, "{case}");
        assert_eq!(said(&call).contains("[CONTEXT]"), !expected.is_empty(), "{case}");
        let read = ada.get(&turn_path(&request)).await.result();
        assert_eq!(paths(&read["ChunkRefs"]), expected, "{case}");
    }
}

/// A path is compared by its parts, and no chunk that a scope excludes reaches the model, also if it is the nearest.
#[tokio::test]
async fn scope_excludes_paths_by_substring() {
    let system = System::with(embedding(options(), &embeddings().await)).await;
    let of = |path: &'static str, text: &'static str, east: f32| chunk("acme", path, text, east, Vec::new());
    let chunks = [
        of("docs/tides.md", "The tide rises twice a day.", 0.1),
        of("docs/Tides/moon.md", "The moon pulls the sea.", 0.2),
        of("docs/harbour.md", "The harbour opens at six.", 4.0),
    ];
    system.indexed("sources", 3, &chunks).await;
    let ada = system.client("acme", "ada");
    let cases = [
        ("Path", "does_not_contain", "tides", "docs/harbour.md"),
        ("path", "contains", "TIDES", "docs/tides.mddocs/Tides/moon.md"),
        ("Path", "contains", "harbour", "docs/harbour.md"),
        ("Path", "contains", ".MD", "docs/tides.mddocs/Tides/moon.mddocs/harbour.md"),
    ];
    for (key, operator, value, expected) in cases {
        let mut request = turn("Where?");
        request["RagScope"] = json!({"Conditions": [{"Key": key, "Operator": operator, "Values": [value]}]});
        let answer = ada.execute(&request).await.result();
        assert_eq!(answer.get("UserWarnings"), None, "{key} {operator} {value}");
        assert_eq!(told(&system.last_call()), expected, "{key} {operator} {value}");
    }
}

/// A database in strict mode refuses filters by keys without an index. The documented keys have one; of another, the user
/// is told.
#[tokio::test]
async fn scope_works_in_strict_mode_and_unindexed_key_is_named() {
    let system = System::with(embedding(options(), &embeddings().await)).await;
    let more = |title: &str, owner: &str| vec![("Title", title.into()), ("Owner", owner.into())];
    let chunks = [
        chunk("acme", "docs/tides.md", "The tide rises twice a day.", 0.1, more("Tides", "ada")),
        chunk("acme", "docs/harbour.md", "The harbour opens at six.", 4.0, more("Harbour hours", "bob")),
    ];
    let strict = StrictModeConfig {
        enabled: Some(true),
        unindexed_filtering_retrieve: Some(false),
        ..StrictModeConfig::default()
    };
    let created = retrieval::collection::create_request("sources", 3);
    system.indexed_in(CreateCollection { strict_mode_config: Some(strict), ..created }, &chunks).await;
    let ada = system.client("acme", "ada");
    for (key, operator, value, warned) in [
        ("Path", "==", json!("docs/harbour.md"), false),
        ("Path", "!=", json!("docs/tides.md"), false),
        ("Title", "==", json!("Harbour hours"), false),
        ("Title", "!=", json!("Tides"), false),
        ("Text", "==", json!("The harbour opens at six."), false),
        ("Text", "contains", json!("opens"), false),
        ("Owner", "==", json!("bob"), true),
        ("Owner", "!=", json!("ada"), true),
    ] {
        let mut request = turn("Where?");
        request["RagScope"] = json!({"Conditions": [{"Key": key, "Operator": operator, "Values": [value]}]});
        let answer = ada.execute(&request).await.result();
        assert_eq!(told(&system.last_call()), "docs/harbour.md", "{key} {operator}");
        let warning = answer["UserWarnings"][0].as_str().unwrap_or_default();
        assert_eq!(warning.contains("no index for the key `Owner`"), warned, "{key} {operator}: {answer}");
    }
}

/// A scope that nothing uses is told, since its author relies on it.
#[tokio::test]
async fn scope_without_sources_is_a_warning() {
    let system = System::with(options()).await;
    let mut request = turn("Where?");
    request["RagScope"] = json!({"Conditions": [{"Key": "Path", "Operator": "contains", "Values": ["a"]}]});
    let answer = system.client("acme", "ada").execute(&request).await.result();
    let warning = "`RagScope` was not used: no indexed sources are configured for this turn.";
    assert_eq!(answer["UserWarnings"], json!([warning]), "{answer}");
}

/// The sources of a turn can be read while it waits for the client.
#[tokio::test]
async fn suspended_turn_lists_its_chunks() {
    let system = system(&[]).await;
    let ada = system.client("acme", "ada");
    let request =
        workspace_turn("Where? [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"There.\"]]");
    assert_eq!(ada.execute(&request).await.result()["Kind"], "client_tool_continuation");
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!((&read["Status"]["Id"], paths(&read["ChunkRefs"]).as_str()), (&json!("pending"), "abc"));
    let session = ada.get(&session_path(&request)).await.result();
    assert_eq!(paths(&session["Turns"][0]["ChunkRefs"]), "abc");
}

#[tokio::test]
async fn search_tool_adds_chunks_and_stays_within_the_org() {
    let system = system(&[]).await;
    system.put_context(json!({"PromptLimits": {"ContextChunks": 1}})).await;
    let ada = system.client("acme", "ada");
    let mut request = turn(
        "Where? [[script: call search_context {\"query\":\"east\"}; \
         call search_context {\"query\":\"OrgId other\"}; \
         call search_context {\"query\":\"north\",\"OrgId\":\"other\",\"org_id\":\"other\"}; then; say \"Done.\"]]",
    );
    request["ConversationContextId"] = json!("c");
    let answer = ada.execute(&request).await.result();
    assert_eq!(
        (&answer["PrimaryOutputText"], answer.get("UserWarnings")),
        (&json!("Done."), None),
        "{answer}"
    );
    let calls = system.model_calls();
    assert_eq!(told(&calls[0]), "a");

    let results = answer["ToolResults"].as_array().unwrap();
    let own: Vec<String> = chunks().iter().take(3).map(Indexed::id).collect();
    let found = |result: &Value| -> Vec<String> {
        let result: Value = serde_json::from_str(result["ResultJson"].as_str().unwrap()).unwrap();
        let chunks = result["chunks"].as_array().unwrap().iter();
        chunks.map(|chunk| chunk["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (found(&results[0]), found(&results[1])),
        (vec![own[2].clone()], vec![own[0].clone()]),
        "{answer}"
    );
    let refused = results[2]["ErrorMessage"].as_str().unwrap();
    assert!(refused.contains("'OrgId', 'org_id' were unexpected"), "{refused}");

    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!(paths(&read["ChunkRefs"]), "ac", "what it was told first, and what it found: {read}");
}

/// The next turn of a session is told what it asks for, and not what an earlier one did.
#[tokio::test]
async fn each_turn_gets_the_chunks_nearest_to_its_instruction() {
    let system = system(&[]).await;
    system.put_context(json!({"PromptLimits": {"ContextChunks": 1}})).await;
    let ada = system.client("acme", "ada");
    let mut request = turn("Where?");
    request["ConversationContextId"] = json!("c");
    ada.execute(&request).await.result();
    let next = turn_in(request["SessionId"].as_str().unwrap(), "east?");
    ada.execute_when_free(&next).await.result();
    let refs = async |turn: &Value| paths(&ada.get(&turn_path(turn)).await.result()["ChunkRefs"]);
    assert_eq!((refs(&request).await, refs(&next).await), ("a".to_owned(), "c".to_owned()));
}

#[tokio::test]
async fn missing_or_mismatched_collection_warns_once_and_turn_completes() {
    let cases = [("sources", "other dimensions"), ("missing", "no such collection")];
    for (collection, why) in cases {
        let settings = set(embedding(options(), &embeddings().await), &[("QDRANT_COLLECTION", collection)]);
        let system = System::with(settings).await;
        system.indexed("sources", 4, &[]).await;
        let ada = system.client("acme", "ada");
        let request = turn("Where? [[script: call search_context {\"query\":\"x\"}; then; say \"Done.\"]]");
        let answer = ada.execute(&request).await.result();
        let shown = (&answer["PrimaryOutputText"], &answer["UserWarnings"]);
        assert_eq!(shown, (&json!("Done."), &json!([SKIPPED])), "{why}");
        assert!(!said(&system.model_calls()[0]).contains("[CONTEXT]"));
        assert_eq!(ada.get(&turn_path(&request)).await.result()["ChunkRefs"], json!([]));
        let logs = system.until_logs(|logs| logs.contains("retrieval skipped")).await;
        let line = logs.lines().find(|line| line.contains("retrieval skipped")).unwrap();
        assert!(line.contains(why), "{why}: {line}");
        system.cloud.shutdown().await;
    }
}
