//! Streams that break off and are taken up again: by the same request, and by `GET …/stream`.

use contracts::paths::TOOL_RESULTS;
use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    client_tools::results,
    support::{
        Answer, Client, Event, Events, LEASE, System, answer_text, final_text_and_result, options, turn,
        turn_in, turn_path, workspace_turn,
    },
};

/// By which way a client comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    SameRequest,
    Read,
}

async fn attach(client: &Client, turn: &Value, way: Way, after: Option<u64>) -> Result<Events, Answer> {
    match way {
        Way::SameRequest => client.execute_streaming(turn, after).await,
        Way::Read => client.follow(turn, after).await,
    }
}

/// Reads a turn to its result as a patient client does, each connection at most so many events long.
async fn read_in_pieces(
    client: &Client,
    turn: &Value,
    mut pieces: impl Iterator<Item = (Way, usize)>,
) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    for _ in 0..500 {
        let (way, most) = pieces.next().expect("more pieces");
        // Only the request itself can start the turn.
        let way = if all.is_empty() { Way::SameRequest } else { way };
        let after = all.last().map(|event| event.id);
        match attach(client, turn, way, after).await {
            Ok(mut events) => {
                for _ in 0..most {
                    let Some(event) = events.next().await else { break };
                    all.push(event);
                    if all.last().is_some_and(|event| event.kind == "result") {
                        return all;
                    }
                }
            }
            // It is not known yet who goes on with the turn.
            Err(answer) => assert!([409, 429, 502].contains(&answer.status), "{way:?}: {}", answer.text),
        }
    }
    panic!("no result after {} events", all.len());
}

#[tokio::test]
async fn stream_broken_after_any_event_resumes_without_loss_or_repeat() {
    let system = System::with(Options { concurrency: 64, ..options() }).await;
    let ada = system.client("acme", "ada");
    let base = std::env::var("STREAM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = base.map_or(1..=6, |seed: u64| seed..=seed);
    for seed in seeds {
        println!("STREAM_SEED={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let script = match seed % 3 {
            0 => "pace 50ms; words 80",
            1 => "words 60",
            _ => "pace 10ms; words 10; call agent_list_modes {}; then; pace 10ms; words 20",
        };
        let request = turn(&format!("Write [[script: {script}]]"));
        let pieces = std::iter::from_fn(|| {
            let way = if random.bool() { Way::SameRequest } else { Way::Read };
            Some((way, random.usize(1..12)))
        });
        let events = read_in_pieces(&ada, &request, pieces).await;
        let (text, result) = final_text_and_result(&events);
        assert_eq!(text, answer_text(&result), "seed {seed}");
        assert_eq!(ada.execute(&request).await.text, result, "seed {seed}");
    }
    if base.is_none() {
        assert_eq!(system.model_calls().len(), 8, "one for each turn, and two for its tool round");
    }
}

#[tokio::test]
async fn other_connections_follow_a_running_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Write [[script: say \"First words\"; hang 60s; say \" and last.\"]]");
    let mut first =
        ada.execute_streaming(&request, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
    let told = first.next().await.expect("it runs");
    let mut along = Vec::new();
    for way in [Way::SameRequest, Way::Read] {
        let mut events =
            attach(&ada, &request, way, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
        assert_eq!(events.next().await.as_ref(), Some(&told), "{way:?}");
        along.push(events);
    }
    assert_eq!(ada.get(&turn_path(&request)).await.result()["Status"]["Id"], "pending");
    ada.post(&format!("{}/cancel", turn_path(&request)), String::new()).await.result();
    let mut ends = Vec::new();
    for events in [first].into_iter().chain(along) {
        let mut all = vec![told.clone()];
        all.extend(events.rest().await);
        ends.push(final_text_and_result(&all));
    }
    assert!(ends[0].1.contains("TurnCancelled") && ends[0].0.is_empty(), "{ends:?}");
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{ends:?}");
}

#[tokio::test]
async fn finished_turn_still_has_its_stream_and_hides_it_from_others() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Write [[script: words 20]]");
    let events =
        ada.execute_streaming(&request, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
    let events = events.rest().await;
    let (text, result) = final_text_and_result(&events);
    for way in [Way::SameRequest, Way::Read] {
        let again =
            attach(&ada, &request, way, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
        let (again, same) = final_text_and_result(&again.rest().await);
        assert_eq!((&again, &same), (&text, &result), "{way:?}");
        let Err(over) = attach(&ada, &request, way, events.last().map(|event| event.id)).await else {
            panic!("{way:?}: more after the result");
        };
        match way {
            Way::SameRequest => assert_eq!((over.status, &over.text), (200, &result)),
            Way::Read => assert_eq!((over.status, over.text.as_str()), (204, "")),
        }
        for event in &events[..events.len() - 1] {
            let rest = attach(&ada, &request, way, Some(event.id)).await;
            let rest = rest.unwrap_or_else(|answer| panic!("{}", answer.text)).rest().await;
            assert!(rest.iter().all(|later| later.id > event.id), "{way:?} after {}: {rest:?}", event.id);
            let observer = events.iter().take_while(|earlier| earlier.id <= event.id);
            let (whole, same) = final_text_and_result(&observer.chain(&rest).cloned().collect::<Vec<_>>());
            assert_eq!((&whole, &same), (&text, &result), "{way:?} after {}", event.id);
        }
    }

    let stream = format!("{}/stream", turn_path(&request));
    let foreign = system.client("rival", "eve").get(&stream).await;
    let unknown = ada.get(&format!("{}/stream", turn_path(&turn("never sent")))).await;
    assert_eq!((foreign.status, foreign.error().as_str()), (404, "TurnNotFound"));
    assert_eq!((unknown.status, &unknown.text), (404, &foreign.text));
}

#[tokio::test]
async fn stream_of_a_killed_function_ends_with_the_turn_outcome() {
    let system = System::with(Options { lease: Some(2 * LEASE), concurrency: 16, ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = turn("Write [[script: pace 20ms; words 60]]");
    let mut all = Vec::new();
    let mut events =
        ada.execute_streaming(&request, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
    while all.len() < 5 {
        all.push(events.next().await.expect("more"));
    }
    system.cloud.crash(Function::Execute);
    while let Some(event) = events.next().await {
        all.push(event);
    }
    assert!(all.iter().all(|event| event.kind != "result"), "{all:?}");
    let after = all.last().map(|event| event.id);
    // Whoever only reads can't take the turn over, and waits for whoever does.
    let reading = system.client("acme", "ada");
    let (asked_for, observer) = (request.clone(), all.clone());
    let reading = tokio::spawn(async move {
        let mut all = observer;
        // A connection that ends without a result asks its client back.
        while all.last().is_none_or(|event| event.kind != "result") {
            let after = all.last().map(|event| event.id);
            let events = reading.follow(&asked_for, after).await;
            all.extend(events.unwrap_or_else(|answer| panic!("{}", answer.text)).rest().await);
        }
        final_text_and_result(&all)
    });
    let mut rest = Err(ada.get(&turn_path(&request)).await);
    for _ in 0..5 {
        rest = ada.execute_streaming(&request, after).await;
        match &rest {
            Err(answer) if answer.status == 409 => {}
            _ => break,
        }
    }
    let rest = rest.unwrap_or_else(|answer| panic!("{}", answer.text)).rest().await;
    assert_eq!(rest[0].kind, "reset", "what the dead attempt said is not the answer: {rest:?}");
    all.extend(rest);
    let (text, result) = final_text_and_result(&all);
    assert_eq!(text, answer_text(&result));
    assert_eq!(reading.await.unwrap(), (text, result.clone()));
    let again = ada.execute(&request).await;
    assert_eq!((again.status, again.text), (200, result));
    assert_eq!(json!(system.model_calls().len()), 2);
}

/// Ends a turn that awaits tool results.
async fn end_from_outside(system: &System, ada: &Client, request: &Value, reason: &str) {
    match reason {
        "TurnCancelled" => {
            ada.post(&format!("{}/cancel", turn_path(request)), String::new()).await.result();
        }
        "TurnSuperseded" => {
            let next = turn_in(request["SessionId"].as_str().unwrap(), "Never mind");
            ada.execute(&next).await.result();
        }
        _ => {
            for _ in 0..500 {
                system.cloud.sweep().await.expect("a sweep");
                if ada.get(&turn_path(request)).await.result()["Status"]["Id"] == "failed" {
                    return;
                }
            }
            panic!("no sweep ends it");
        }
    }
}

#[tokio::test]
async fn stream_awaiting_tools_reports_turn_end_after_continuation() {
    let mut options = options();
    options.environment.insert("TOOL_WAIT_SECONDS".to_owned(), "0.3".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let script = "Read [[script: say \"Let me look.\"; call workspace_read_file {\"path\":\"a\"}]]";
    for reason in ["TurnCancelled", "TurnSuperseded", "ToolDeadlineExpired"] {
        let request = workspace_turn(script);
        let events = ada.execute_streaming(&request, None).await.unwrap_or_else(|no| panic!("{}", no.text));
        let mut told = events.rest().await;
        let (_, continuation) = final_text_and_result(&told);
        let right = results(&serde_json::from_str::<Value>(&continuation).unwrap()["Result"], "late");
        let seen = told.last().map(|event| event.id);
        end_from_outside(&system, &ada, &request, reason).await;

        let mut ends = Vec::new();
        for way in [Way::SameRequest, Way::Read] {
            let rest = attach(&ada, &request, way, seen).await;
            ends.push(rest.unwrap_or_else(|no| panic!("{way:?}: {} {}", no.status, no.text)).rest().await);
        }
        let rest = ada.stream(Method::POST, TOOL_RESULTS, seen, Some(&right)).await;
        ends.push(rest.unwrap_or_else(|no| panic!("{} {}", no.status, no.text)).rest().await);
        for end in &ends {
            assert_eq!((end.len(), &end[0].kind, end), (1, &"result".to_owned(), &ends[0]), "{reason}");
        }
        told.extend(ends.remove(0));
        assert!(told.windows(2).all(|pair| pair[0].id < pair[1].id), "{reason}: ids rise: {told:?}");
        let end = told.last().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&end.data).unwrap()["Errors"][0]["ErrorCode"], reason);

        // Who has seen that is told nothing more by a read, and by a request how it ended.
        let Err(over) = ada.follow(&request, Some(end.id)).await else { panic!("more after the end") };
        assert_eq!((over.status, over.text.as_str()), (204, ""), "{reason}");
        let again = ada.execute_streaming(&request, Some(end.id)).await;
        let results = ada.stream(Method::POST, TOOL_RESULTS, Some(end.id), Some(&right)).await;
        for answer in [again, results] {
            let Err(answer) = answer else { panic!("more after the end") };
            assert_eq!((answer.status, &answer.text), (409, &end.data), "{reason}");
        }
    }
}
