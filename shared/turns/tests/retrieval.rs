//! What is found in an org's sources: when it is looked for, what the model is told of it, and what the turn keeps.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent::{
    context::Document,
    model::{Chain, Error, FunctionCall, Message, Model, Observer, Reply, Request, Told},
    retrieval::{self, Chunk, EmbeddingModel, Hint, Retrieval, SKIPPED, Search},
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
    client::Calls,
    deployment::{Queue, Sent, Temper},
    ledger::Ledger,
    memory::{Objects, Table},
    schedule::{Clock, Faults, Pace, Process, ProcessId, Schedule},
};
use turns::{
    flow::{Executor, Finalizer, Invocation},
    ports::{Adapters, AgentAdapters},
    stream::Writer,
};

const MINUTES: Duration = Duration::from_secs(840);

/// Gives these replies, and remembers what it was asked.
#[derive(Clone, Default)]
struct Scripted {
    replies: Arc<Mutex<VecDeque<Vec<FunctionCall>>>>,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Model for Scripted {
    async fn reply(&self, request: &Request, _: Duration, _: &mut Observer<'_>) -> Result<Reply, Error> {
        self.asked.lock().unwrap().push(request.clone());
        let calls = self.replies.lock().unwrap().pop_front().unwrap_or_default();
        let text = if calls.is_empty() { "Done." } else { "" };
        Ok(Reply {
            response_id: "resp".to_owned(),
            model: "m".to_owned(),
            text: text.to_owned(),
            calls,
            kept: true,
            cut_short: false,
            restated: false,
            reasoning: Vec::new(),
            hosted: Vec::new(),
        })
    }
}

/// What a search was asked.
#[derive(Debug, Clone, PartialEq)]
struct Searched {
    org: String,
    collection: String,
    question: String,
    scope: Vec<RagCondition>,
    hints: Vec<Hint>,
}

/// Finds one chunk for each question, or fails so; remembers what it was asked.
#[derive(Clone, Default)]
struct Sources {
    fails: Option<retrieval::Error>,
    embedded: Arc<Mutex<Vec<String>>>,
    searched: Arc<Mutex<Vec<Searched>>>,
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
    ) -> Result<Vec<Chunk>, retrieval::Error> {
        let searched = Searched {
            org: search.org.to_string(),
            collection: search.collection.to_owned(),
            question: search.question.to_owned(),
            scope: search.scope.to_vec(),
            hints: search.hints.to_vec(),
        };
        self.searched.lock().unwrap().push(searched);
        Ok(vec![chunk(search.question)])
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
        content_hash: ContentHash::of_text(question),
        score: 0.5,
        text: format!("// {question}"),
    }
}

fn block(question: &str) -> String {
    let header = format!("[CONTEXT]\n\n=== CHUNK 1 ===\nId: id of {question}\nPath: src/a.rs\nLines: 3-5\n");
    format!("{header}Language: rust\n```rust\n// {question}\n```\n\n")
}

type Ports = Adapters<Table, Objects, Process>;

/// A deployment in memory.
struct World {
    executor: Executor<AgentAdapters<Ports, Queue, Scripted, Sources>>,
    finalizer: Finalizer<Ports>,
    table: Table,
    model: Scripted,
    sources: Sources,
}

impl World {
    fn new(fails: Option<retrieval::Error>) -> Self {
        let schedule: Schedule<()> = Schedule::new(1, Pace::Instant, false);
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
        let (model, sources) = (Scripted::default(), Sources { fails, ..Sources::default() });
        let executor = Executor::new(AgentAdapters {
            base: base(),
            queue: Queue::new(clock, Temper::RELIABLE),
            model: model.clone(),
            retrieval: sources.clone(),
            config: build::searching(),
        });
        Self { executor, finalizer: Finalizer::new(base()), table, model, sources }
    }

    /// A turn of which the model's replies make these calls.
    fn run(&self, sent: &Sent, replies: &[&[(&str, Value)]]) -> Value {
        let calls = replies.iter().enumerate().map(|(round, calls)| {
            let call = |(place, (name, arguments)): (usize, &(&str, Value))| FunctionCall {
                call_id: format!("call_{round}_{place}"),
                name: (*name).to_owned(),
                arguments: arguments.to_string(),
            };
            calls.iter().enumerate().map(call).collect()
        });
        *self.model.replies.lock().unwrap() = calls.collect();
        let invocation = Invocation::lasting(MINUTES);
        let first = ended(self.executor.execute(&sent.caller, &sent.request, &invocation, &Writer::silent()));
        let mut body = first.unwrap().to_bytes();
        while let Some(calls) = Calls::read(&body) {
            let results = calls.answered("ann");
            let next = ended(self.executor.resume(&sent.caller, &results, &invocation, &Writer::silent()));
            body = next.unwrap().to_bytes();
        }
        ended(self.finalizer.finalize(&sent.turn())).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn asked(&self) -> Vec<Request> {
        self.model.asked.lock().unwrap().clone()
    }

    fn embedded(&self) -> Vec<String> {
        self.sources.embedded.lock().unwrap().clone()
    }

    fn searched(&self) -> Vec<Searched> {
        self.sources.searched.lock().unwrap().clone()
    }

    /// What the turn lists.
    fn listed(&self, sent: &Sent) -> Vec<AgentSessionChunkRef> {
        self.table.contents().results[&sent.turn()].report.chunk_refs.clone()
    }
}

/// In-memory ports never wait, so a flow over them waits only where it lets others work for a moment.
fn ended<T>(flow: impl Future<Output = T>) -> T {
    let mut flow = pin!(flow);
    let moments = 0..1_000;
    moments.map(|_| flow.as_mut().now_or_never()).find_map(|ended| ended).unwrap()
}

fn ids(refs: &[AgentSessionChunkRef]) -> Vec<&str> {
    refs.iter().map(|one| one.chunk_id.as_str()).collect()
}

#[test]
fn a_turn_is_told_what_was_found_in_its_orgs_sources_and_lists_it() {
    let world = World::new(None);
    let mut sent = Sent::new("ann", "s", "t", "Where?");
    let condition = RagCondition {
        key: "Repo".to_owned(),
        operator: RagOperator::Equals,
        values: NonEmpty::new(vec![RagValue::Text("core".to_owned())]).unwrap(),
    };
    sent.request.rag_scope = vec![condition.clone()];
    sent.request.language = Some("Rust".to_owned());
    let answer = world.run(&sent, &[]);
    assert_eq!(answer["Result"].get("UserWarnings"), None);

    assert_eq!(world.asked()[0].message.context_block, Some(block("Where?")));
    let searched = Searched {
        org: build::ORG.to_owned(),
        collection: "sources".to_owned(),
        question: "Where?".to_owned(),
        scope: vec![condition],
        hints: vec![Hint::new("Language", "rust")],
    };
    assert_eq!(world.searched(), [searched]);
    let listed = world.listed(&sent);
    assert_eq!(
        (listed.len(), listed[0].path.as_str(), listed[0].start_line, listed[0].end_line),
        (1, "src/a.rs", 3, 5)
    );
    assert_eq!(listed[0].content_hash, ContentHash::of_text("Where?"));
}

#[test]
fn tool_rounds_and_results_of_the_client_bring_no_new_search() {
    let world = World::new(None);
    let sent = Sent::new("ann", "s", "t", "Where?");
    let rounds: [&[(&str, Value)]; 2] =
        [&[("agent_list_modes", json!({}))], &[("workspace_read_file", json!({ "path": "a" }))]];
    world.run(&sent, &rounds);
    assert_eq!((world.asked().len(), world.embedded().len(), world.searched().len()), (3, 1, 1));
    let told: Vec<bool> =
        world.asked().iter().map(|request| request.message.context_block.is_some()).collect();
    assert_eq!(told, [true, false, false], "a provider that remembers is told once");
    assert_eq!(ids(&world.listed(&sent)), ["id of Where?"]);
}

#[test]
fn a_conversation_that_is_told_again_is_told_the_same_chunks() {
    let world = World::new(None);
    for (turn, question) in [("t1", "First?"), ("t2", "Second?")] {
        let sent = Sent::new("ann", "s", turn, question).naming(None, Some(build::LOCAL));
        world.run(&sent, &[&[("agent_list_modes", json!({}))]]);
    }
    let asked = world.asked();
    let said = |request: &Request| -> Vec<Option<String>> {
        let Chain::Initial { told, .. } = &request.chain else { panic!("nothing is kept") };
        let messages = told.iter().filter_map(|told| match told {
            Told::Said(Message { context_block, .. }) => Some(context_block.clone()),
            Told::Replied(_) => None,
        });
        messages.chain([request.message.context_block.clone()]).collect()
    };
    assert_eq!(said(&asked[1]), [Some(block("First?")), None]);
    assert_eq!(said(&asked[3]), [Some(block("First?")), None, Some(block("Second?")), None]);
    assert_eq!(world.searched().len(), 2);
}

#[test]
fn the_model_searches_by_a_tool_and_what_it_finds_is_listed_too() {
    let world = World::new(None);
    let sent = Sent::new("ann", "s", "t", "Where?");
    let answer = world.run(&sent, &[&[("search_context", json!({ "query": "Lease" }))]]);
    let result = answer["Result"]["ToolResults"][0]["ResultJson"].as_str().unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    assert_eq!(
        (&result["chunks"][0]["text"], &result["chunks"][0]["start_line"]),
        (&json!("// Lease"), &json!(3))
    );
    assert_eq!(world.searched()[1].org, build::ORG);
    assert_eq!(ids(&world.listed(&sent)), ["id of Where?", "id of Lease"]);
}

#[test]
fn one_reply_searches_eight_times_at_most() {
    let world = World::new(None);
    let calls: Vec<(&str, Value)> =
        (0..10).map(|number| ("search_context", json!({ "query": format!("{number}") }))).collect();
    let answer = world.run(&Sent::new("ann", "s", "t", "Where?"), &[&calls]);
    let results = answer["Result"]["ToolResults"].as_array().unwrap();
    let failed = results.iter().filter(|result| result.get("ErrorMessage").is_some()).count();
    assert_eq!((results.len(), failed, world.searched().len()), (10, 2, 9));
}

#[test]
fn whatever_fails_the_turn_goes_on_with_one_warning() {
    use retrieval::Error::{
        NoCollection, NotEmbedded, OtherDimensions, Paused, Refused, Rejected, TimedOut, Unavailable,
    };
    for why in [Paused, TimedOut, NotEmbedded, Unavailable, Refused, NoCollection, OtherDimensions, Rejected]
    {
        let world = World::new(Some(why));
        let sent = Sent::new("ann", "s", "t", "Where?");
        let answer = world.run(&sent, &[&[("search_context", json!({ "query": "Lease" }))]]);
        assert_eq!(answer["Result"]["PrimaryOutputText"], "Done.", "{why}");
        assert_eq!(answer["Result"]["UserWarnings"], json!([SKIPPED]), "{why}");
        assert_eq!(world.asked()[0].message.context_block, None);
        assert_eq!(world.listed(&sent), []);
    }
}

#[test]
fn a_replay_a_conflict_and_files_alone_search_nothing() {
    let world = World::new(None);
    let sent = Sent::new("ann", "s", "t", "Where?");
    let first = world.run(&sent, &[]);
    assert_eq!(world.run(&sent, &[]), first);
    let other = Sent::new("ann", "s", "t", "Elsewhere?");
    let invocation = Invocation::lasting(MINUTES);
    let refused =
        ended(world.executor.execute(&other.caller, &other.request, &invocation, &Writer::silent()));
    assert!(refused.is_err());
    let mut files = Sent::new("ann", "s", "t2", "Where?");
    files.request.instruction = None;
    files.request = build::with_file(files.request);
    world.run(&files, &[]);
    assert_eq!(world.searched().len(), 1);
}

#[test]
fn a_context_names_its_collection_and_how_much_is_told() {
    let world = World::new(None);
    let put = |members: Value| {
        let mut context = serde_json::to_value(build::conversation("c")).unwrap();
        context.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let context = Document::ConversationContext(serde_json::from_value(context).unwrap());
        world.table.put_context(&OrgId::new(build::ORG).unwrap(), context);
    };
    put(json!({ "Collection": "own", "EmbeddingModel": "embedding-2" }));
    world.run(&Sent::new("ann", "s1", "t", "Where?").naming(None, Some("c")), &[]);
    assert_eq!(world.searched()[0].collection, "own");
    assert_eq!(world.embedded().last().unwrap(), "embedding-2: Where?");
    put(json!({ "Budgets": { "ContextChunks": 0 } }));
    world.run(&Sent::new("ann", "s2", "t", "Where?").naming(None, Some("c")), &[]);
    assert_eq!((world.searched().len(), world.asked()[1].message.context_block.clone()), (1, None));
}
