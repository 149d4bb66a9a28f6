//! Retrieval in turns: the searches, the model's prompts and the stored references.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent::{
    context::Document,
    model::{Chain, Error, FunctionCall, HistoryItem, Message, Model, Observer, Reply, Request},
    retrieval::{self, Chunk, EmbeddingModel, Hint, Retrieval, SEARCH_SKIPPED, Search, SearchResult},
    tool::remote::NoRemoteTools,
};
use contracts::{
    ContentHash, NonEmpty,
    id::OrgId,
    read::AgentSessionChunkRef,
    request::{RagCondition, RagOperator, RagValue},
};
use futures::FutureExt;
use protocol::timing::Timing;
use serde_json::{Value, json};
use testkit::{
    build,
    client::PendingCalls,
    deployment::{ClientRequest, Queue, QueueFaults},
    ledger::Ledger,
    memory::{Objects, Table},
    schedule::{Clock, Faults, Latency, Process, ProcessId, Schedule},
};
use turns::{
    flow::{Executor, Invocation, finalize_turn},
    ports::{Adapters, AgentAdapters, NoProviders},
    stream::Writer,
};

const MINUTES: Duration = Duration::from_secs(840);

/// Returns these replies and records the requests.
#[derive(Clone, Default)]
struct ScriptedModel {
    replies: Arc<Mutex<VecDeque<Vec<FunctionCall>>>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Model for ScriptedModel {
    async fn reply(&self, request: &Request, _: Duration, _: &mut Observer<'_>) -> Result<Reply, Error> {
        self.requests.lock().unwrap().push(request.clone());
        let calls = self.replies.lock().unwrap().pop_front().unwrap_or_default();
        let text = if calls.is_empty() { "Done." } else { "" };
        Ok(Reply {
            response_id: "resp".to_owned(),
            model: "m".to_owned(),
            text: text.to_owned(),
            calls,
            is_stored: true,
            is_truncated: false,
            replaces_stream: false,
            reasoning: Vec::new(),
            hosted: Vec::new(),
            text_parts: Vec::new(),
        })
    }
}

/// The parameters of a search.
#[derive(Debug, Clone, PartialEq)]
struct SearchCall {
    org: String,
    collection: String,
    question: String,
    scope: Vec<RagCondition>,
    hints: Vec<Hint>,
}

/// Finds one chunk per question, or fails with this error. Records the questions.
#[derive(Clone, Default)]
struct Sources {
    fails: Option<retrieval::Error>,
    embedded: Arc<Mutex<Vec<String>>>,
    searches: Arc<Mutex<Vec<SearchCall>>>,
}

impl Retrieval for Sources {
    async fn embed(
        &self,
        model: &EmbeddingModel,
        question: &str,
        _: Duration,
    ) -> Result<Vec<f32>, retrieval::Error> {
        self.embedded.lock().unwrap().push(format!("{}: {question}", model.name));
        self.fails.map_or_else(|| Ok(vec![1.0]), Err)
    }

    async fn search(
        &self,
        search: &Search<'_>,
        _: &[f32],
        _: Duration,
    ) -> Result<SearchResult, retrieval::Error> {
        let searches = SearchCall {
            org: search.org.to_string(),
            collection: search.collection.to_owned(),
            question: search.question.to_owned(),
            scope: search.scope.to_vec(),
            hints: search.hints.to_vec(),
        };
        self.searches.lock().unwrap().push(searches);
        Ok(SearchResult { chunks: vec![chunk(search.question)], warnings: Vec::new() })
    }
}

fn chunk(question: &str) -> Chunk {
    Chunk {
        id: format!("id of {question}"),
        repo: None,
        path: "src/a.rs".to_owned(),
        language: Some("rust".to_owned()),
        start_line: 3,
        end_line: 5,
        content_hash: ContentHash::hash_text(question),
        score: 0.5,
        section: None,
        page: None,
        parts: None,
        text: format!("// {question}"),
    }
}

fn block(question: &str) -> String {
    let header = format!("[CONTEXT]\n\n=== CHUNK 1 ===\nId: id of {question}\nPath: src/a.rs\nLines: 3-5\n");
    format!("{header}Language: rust\n```rust\n// {question}\n```\n\n")
}

type Ports = Adapters<Table, Objects, Process>;

/// An in-memory deployment.
struct World {
    executor: Executor<AgentAdapters<Ports, Queue, ScriptedModel, Sources, NoRemoteTools>>,
    ports: Ports,
    table: Table,
    model: ScriptedModel,
    sources: Sources,
}

impl World {
    fn new(fails: Option<retrieval::Error>) -> Self {
        let schedule: Schedule<()> = Schedule::new(1, Latency::Instant, false);
        let clock: Clock = schedule.clock().clone();
        let ledger = Ledger::new(clock.clone());
        let (table, objects) = (Table::new(ledger.clone()), Objects::new(ledger.clone()));
        for document in build::contexts() {
            table.put_context(&OrgId::new(build::ORG).unwrap(), document);
        }
        let process = Process::new(ProcessId(0), "one".to_owned(), clock.clone(), ledger, Faults::None);
        let base = || Adapters {
            store: table.clone(),
            payloads: objects.clone(),
            host: process.clone(),
            timing: Timing::default(),
        };
        let (model, sources) = (ScriptedModel::default(), Sources { fails, ..Sources::default() });
        let executor = Executor::new(AgentAdapters {
            base: base(),
            queue: Queue::new(clock, QueueFaults::RELIABLE),
            model: model.clone(),
            retrieval: sources.clone(),
            remote_tools: NoRemoteTools,
            config: build::config_with_retrieval(),
        });
        Self { executor, ports: base(), table, model, sources }
    }

    /// Runs a turn whose model replies make these calls.
    fn run(&self, sent: &ClientRequest, replies: &[&[(&str, Value)]]) -> Value {
        let answer = self.run_unfinalized(sent, replies);
        poll_to_end(finalize_turn(&self.ports, &NoProviders, &sent.turn())).unwrap();
        answer
    }

    /// Does the same, and leaves the turn settled.
    fn run_unfinalized(&self, sent: &ClientRequest, replies: &[&[(&str, Value)]]) -> Value {
        let calls = replies.iter().enumerate().map(|(round, calls)| {
            let call = |(place, (name, arguments)): (usize, &(&str, Value))| FunctionCall {
                call_id: format!("call_{round}_{place}"),
                name: (*name).to_owned(),
                arguments: arguments.to_string(),
            };
            calls.iter().enumerate().map(call).collect()
        });
        *self.model.replies.lock().unwrap() = calls.collect();
        let invocation = Invocation::with_budget(MINUTES);
        let first =
            poll_to_end(self.executor.execute(&sent.caller, &sent.request, &invocation, &Writer::silent()));
        let mut body = first.unwrap().to_bytes();
        while let Some(calls) = PendingCalls::parse(&body) {
            let results = calls.correct_request("ann");
            let next =
                poll_to_end(self.executor.resume(&sent.caller, &results, &invocation, &Writer::silent()));
            body = next.unwrap().to_bytes();
        }
        serde_json::from_slice(&body).unwrap()
    }

    fn requests(&self) -> Vec<Request> {
        self.model.requests.lock().unwrap().clone()
    }

    fn embedded(&self) -> Vec<String> {
        self.sources.embedded.lock().unwrap().clone()
    }

    fn searches(&self) -> Vec<SearchCall> {
        self.sources.searches.lock().unwrap().clone()
    }

    /// The chunks that the turn refers to.
    fn listed_chunks(&self, sent: &ClientRequest) -> Vec<AgentSessionChunkRef> {
        self.table.contents().results[&sent.turn()].report.chunk_refs.clone()
    }
}

/// In-memory ports never wait, so a flow over them only yields for a moment.
fn poll_to_end<T>(flow: impl Future<Output = T>) -> T {
    let mut flow = pin!(flow);
    let moments = 0..1_000;
    moments.map(|_| flow.as_mut().now_or_never()).find_map(|poll_to_end| poll_to_end).unwrap()
}

fn ids(refs: &[AgentSessionChunkRef]) -> Vec<&str> {
    refs.iter().map(|one| one.chunk_id.as_str()).collect()
}

#[test]
fn turn_includes_and_lists_retrieved_chunks() {
    let world = World::new(None);
    let mut sent = ClientRequest::new("ann", "s", "t", "Where?");
    let condition = RagCondition {
        key: "Repo".to_owned(),
        operator: RagOperator::Equals,
        values: NonEmpty::new(vec![RagValue::Text("core".to_owned())]).unwrap(),
    };
    sent.request.rag_scope = vec![condition.clone()];
    sent.request.language = Some("Rust".to_owned());
    let answer = world.run(&sent, &[]);
    assert_eq!(answer["Result"].get("UserWarnings"), None);

    assert_eq!(world.requests()[0].message.context_block, Some(block("Where?")));
    let searches = SearchCall {
        org: build::ORG.to_owned(),
        collection: "sources".to_owned(),
        question: "Where?".to_owned(),
        scope: vec![condition],
        hints: vec![Hint::new("Language", "rust")],
    };
    assert_eq!(world.searches(), [searches]);
    let listed_chunks = world.listed_chunks(&sent);
    assert_eq!(
        (
            listed_chunks.len(),
            listed_chunks[0].path.as_str(),
            listed_chunks[0].start_line,
            listed_chunks[0].end_line
        ),
        (1, "src/a.rs", 3, 5)
    );
    assert_eq!(listed_chunks[0].content_hash, ContentHash::hash_text("Where?"));
}

#[test]
fn tool_rounds_trigger_no_new_search() {
    let world = World::new(None);
    let sent = ClientRequest::new("ann", "s", "t", "Where?");
    let rounds: [&[(&str, Value)]; 2] =
        [&[("agent_list_modes", json!({}))], &[("workspace_read_file", json!({ "path": "a" }))]];
    world.run(&sent, &rounds);
    assert_eq!((world.requests().len(), world.embedded().len(), world.searches().len()), (3, 1, 1));
    let has_context: Vec<bool> =
        world.requests().iter().map(|request| request.message.context_block.is_some()).collect();
    assert_eq!(has_context, [true, false, false], "a stateful provider gets the context once");
    assert_eq!(ids(&world.listed_chunks(&sent)), ["id of Where?"]);
}

#[test]
fn replayed_history_contains_the_same_chunks() {
    let world = World::new(None);
    for (turn, question) in [("t1", "First?"), ("t2", "Second?")] {
        let sent = ClientRequest::new("ann", "s", turn, question).with_contexts(None, Some(build::LOCAL));
        world.run(&sent, &[&[("agent_list_modes", json!({}))]]);
    }
    let requests = world.requests();
    let context_blocks = |request: &Request| -> Vec<Option<String>> {
        let Chain::Initial { history, .. } = &request.chain else { panic!("the provider stores nothing") };
        let messages = history.iter().filter_map(|item| match item {
            HistoryItem::Message(Message { context_block, .. }) => Some(context_block.clone()),
            HistoryItem::Reply(_) => None,
        });
        messages.chain([request.message.context_block.clone()]).collect()
    };
    assert_eq!(context_blocks(&requests[1]), [Some(block("First?")), None]);
    assert_eq!(context_blocks(&requests[3]), [Some(block("First?")), None, Some(block("Second?")), None]);
    assert_eq!(world.searches().len(), 2);
}

#[test]
fn chunks_found_by_search_tool_are_listed() {
    let world = World::new(None);
    let sent = ClientRequest::new("ann", "s", "t", "Where?");
    let answer = world.run(&sent, &[&[("search_context", json!({ "query": "Lease" }))]]);
    let result = answer["Result"]["ToolResults"][0]["ResultJson"].as_str().unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    assert_eq!(
        (&result["chunks"][0]["text"], &result["chunks"][0]["start_line"]),
        (&json!("// Lease"), &json!(3))
    );
    assert_eq!(world.searches()[1].org, build::ORG);
    assert_eq!(ids(&world.listed_chunks(&sent)), ["id of Where?", "id of Lease"]);
}

#[test]
fn search_after_unfinalized_mode_change_has_hints_of_new_mode() {
    let world = World::new(None);
    let change = json!({"mode": "ddr_authoring", "branch": false, "reason": "It is a decision."});
    let first = ClientRequest::new("ann", "s", "t1", "First?");
    world.run_unfinalized(&first, &[&[("agent_change_mode", change)]]);
    let next = ClientRequest::new("ann", "s", "t2", "Second?");
    world.run(&next, &[&[("search_context", json!({ "query": "Lease" }))]]);
    assert_eq!(world.table.contents().heads[&next.turn()].mode, "ddr_authoring");
    let hints = [Hint::new("Subtype", "ddr"), Hint::new("LabelSlugs", "ddr")];
    let searches = world.searches();
    let [.., of_turn, of_tool] = &searches[..] else { panic!("{searches:?}") };
    for (search, question) in [(of_turn, "Second?"), (of_tool, "Lease")] {
        assert_eq!((search.question.as_str(), &search.hints[..]), (question, &hints[..]));
    }
    assert_eq!(world.embedded().len(), 3, "the question is embedded once");
    assert_eq!(ids(&world.listed_chunks(&next)), ["id of Second?", "id of Lease"]);
}

#[test]
fn reply_makes_at_most_eight_searches() {
    let world = World::new(None);
    let calls: Vec<(&str, Value)> =
        (0..10).map(|number| ("search_context", json!({ "query": format!("{number}") }))).collect();
    let answer = world.run(&ClientRequest::new("ann", "s", "t", "Where?"), &[&calls]);
    let results = answer["Result"]["ToolResults"].as_array().unwrap();
    let failed = results.iter().filter(|result| result.get("ErrorMessage").is_some()).count();
    assert_eq!((results.len(), failed, world.searches().len()), (10, 2, 9));
}

#[test]
fn failed_retrieval_continues_with_one_warning() {
    use retrieval::Error::{
        CollectionNotFound, DimensionMismatch, EmbeddingFailed, Paused, Rejected, TimedOut, Unauthorized,
        Unavailable,
    };
    for why in [
        Paused,
        TimedOut,
        EmbeddingFailed,
        Unavailable,
        Unauthorized,
        CollectionNotFound,
        DimensionMismatch,
        Rejected,
    ] {
        let world = World::new(Some(why));
        let sent = ClientRequest::new("ann", "s", "t", "Where?");
        let answer = world.run(&sent, &[&[("search_context", json!({ "query": "Lease" }))]]);
        assert_eq!(answer["Result"]["PrimaryOutputText"], "Done.", "{why}");
        assert_eq!(answer["Result"]["UserWarnings"], json!([SEARCH_SKIPPED]), "{why}");
        assert_eq!(world.requests()[0].message.context_block, None);
        assert_eq!(world.listed_chunks(&sent), []);
    }
}

#[test]
fn replay_conflict_and_files_only_skip_search() {
    let world = World::new(None);
    let sent = ClientRequest::new("ann", "s", "t", "Where?");
    let first = world.run(&sent, &[]);
    assert_eq!(world.run(&sent, &[]), first);
    let other = ClientRequest::new("ann", "s", "t", "Elsewhere?");
    let invocation = Invocation::with_budget(MINUTES);
    let refused =
        poll_to_end(world.executor.execute(&other.caller, &other.request, &invocation, &Writer::silent()));
    assert!(refused.is_err());
    let mut files = ClientRequest::new("ann", "s", "t2", "Where?");
    files.request.instruction = None;
    files.request = build::with_file(files.request);
    world.run(&files, &[]);
    assert_eq!(world.searches().len(), 1);
}

#[test]
fn context_sets_collection_and_chunk_budget() {
    let world = World::new(None);
    let put = |members: Value| {
        let mut context = serde_json::to_value(build::conversation("c")).unwrap();
        context.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let context = Document::ConversationContext(serde_json::from_value(context).unwrap());
        world.table.put_context(&OrgId::new(build::ORG).unwrap(), context);
    };
    put(json!({ "Collection": "own", "EmbeddingModel": "embedding-2" }));
    world.run(&ClientRequest::new("ann", "s1", "t", "Where?").with_contexts(None, Some("c")), &[]);
    assert_eq!(world.searches()[0].collection, "own");
    assert_eq!(world.embedded().last().unwrap(), "embedding-2: Where?");
    put(json!({ "PromptLimits": { "ContextChunks": 0 } }));
    world.run(&ClientRequest::new("ann", "s2", "t", "Where?").with_contexts(None, Some("c")), &[]);
    assert_eq!((world.searches().len(), world.requests()[1].message.context_block.clone()), (1, None));
}
