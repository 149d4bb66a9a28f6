use contracts::{
    AgentExecuteRequest, AgentExecuteResponse, Fingerprint, Timestamp,
    id::{SessionId, TurnId, UserId},
    request::UserTurn,
    response::{Final, Metadata, ToolOutcome},
};
use proptest::prelude::*;
use protocol::{
    chain::Start,
    detail::Report,
    id::{AttemptId, SessionKey},
    line::After,
    session::SolutionContext,
    turn::{Stage, State, Turn},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    call::{CallRecord, Round},
    context::Budgets,
    known::Solutions,
    material,
    mode::Catalog,
    model::{Instruction, Item, Message, Told},
    outcome::Outcome,
    tool,
    window::Window,
};

fn catalog() -> Catalog {
    let registry = tool::Registry::new(tool::built_in()).unwrap();
    Catalog::seed(&registry.names().collect::<Vec<_>>()).unwrap()
}

fn request(members: &Value) -> UserTurn {
    let mut body = json!({ "SessionId": "s", "TurnId": "t", "Instruction": "Look." });
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    match AgentExecuteRequest::parse(body.to_string().as_bytes()).unwrap() {
        AgentExecuteRequest::UserTurn(turn) => turn,
        AgentExecuteRequest::ToolContinuation(_) => unreachable!("there are no results"),
    }
}

fn head(sequence: u64, mode: &str) -> Turn {
    let session = SessionKey { org: "acme".parse().unwrap(), session: SessionId::new("s").unwrap() };
    let attempt = AttemptId::new("a".to_owned());
    Turn {
        key: session.turn(TurnId::new(format!("t{sequence}")).unwrap()),
        sequence,
        after: After::turn(sequence - 1),
        offset: 0,
        fingerprint: Fingerprint::of_bytes(&sequence.to_be_bytes()),
        request_by: None,
        requested_by: UserId::new("ann").unwrap(),
        created: Timestamp::from_millis(0),
        mode: mode.to_owned(),
        chain: Start::First,
        attempt: attempt.clone(),
        due: None,
        takeovers: 0,
        streamed: false,
        suspended_by: None,
        accepted: None,
        ended_by: None,
        recorded: None,
        shown: None,
        state: State::Running {
            lease_ends: Timestamp::from_millis(0),
            stage: Stage { round: 0, attempts: vec![attempt] },
        },
    }
}

/// What a turn came to.
#[derive(Default)]
struct Came<'a> {
    answer: &'a str,
    rounds: Vec<Round>,
    told_mode: Option<&'a str>,
    solution: Option<&'a str>,
    window: Option<Window>,
}

fn outcome(came: Came<'_>) -> Outcome {
    let answer = Final {
        metadata: Metadata {
            session_id: SessionId::new("s").unwrap(),
            turn_id: TurnId::new("t").unwrap(),
            mode_display_name: "General".to_owned(),
        },
        primary_output_text: came.answer.to_owned(),
        files: Vec::new(),
        tool_results: Vec::new(),
        user_warnings: Vec::new(),
        usage: None,
    };
    let report = Report {
        told_mode: came.told_mode.map(str::to_owned),
        told_solution: came.solution.map(|text| Fingerprint::of_bytes(text.as_bytes())),
        ..Report::default()
    };
    Outcome::completed(AgentExecuteResponse::Final(answer), report, None).told(came.rounds, came.window)
}

fn exchange(sequence: u64, mode: &str, members: &Value, came: Came<'_>) -> Exchange {
    let request = request(members);
    let refs = material::choose(&request, &Budgets::default(), &[]);
    Exchange::of(&head(sequence, mode), &request, &refs, &outcome(came)).unwrap()
}

/// A turn that takes about this many tokens.
fn of_tokens(sequence: u64, tokens: u32) -> Exchange {
    let words = "x".repeat(usize::try_from(tokens.saturating_sub(18)).unwrap() * 3);
    exchange(
        sequence,
        "general",
        &json!({ "Instruction": words }),
        Came { answer: "Yes.", ..Came::default() },
    )
}

fn with_file(sequence: u64, tokens: usize) -> Exchange {
    let file = json!([{
        "RelativePath": format!("src/{sequence}.rs"), "FileName": format!("{sequence}.rs"),
        "Contents": "y".repeat(tokens * 3), "Origin": "ide",
    }]);
    let image = json!([{ "Id": "shot", "MimeType": "image/png", "DataBase64": "iVBORw0KGgpyZXN0" }]);
    let members = json!({ "InputArtifacts": file, "ClipboardImages": image });
    exchange(sequence, "general", &members, Came { answer: "Read.", ..Came::default() })
}

fn round(id: &str, result: &str, mode: &str) -> Round {
    let call = CallRecord {
        call_id: id.to_owned(),
        provider_id: None,
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
        ran_by: None,
        execution_ms: None,
        whole: crate::call::WholeCall::default(),
    };
    Round { calls: vec![call], mode: Some(mode.to_owned()), ..Round::default() }
}

fn earlier(exchanges: Vec<Exchange>, window: Option<Window>) -> Earlier {
    Earlier { exchanges, window, ..Earlier::default() }
}

fn now(sequence: u64, room: u32) -> Now<'static> {
    Now {
        place: sequence,
        mode: "general",
        solution: None,
        reader: None,
        room,
        summary: None,
        briefly: false,
    }
}

fn said(told: &Told) -> Option<&Message> {
    match told {
        Told::Said(message) => Some(message),
        Told::Replied(_) => None,
    }
}

/// The turns that are told, by what the user said first in each.
fn turns(telling: &Telling) -> usize {
    let own = |message: &&Message| message.instruction != Instruction::ToolResults;
    telling.told.iter().filter_map(said).filter(own).count()
}

#[test]
fn a_turn_is_told_in_its_own_words_its_rounds_in_order_and_its_answer_last() {
    let rounds = vec![round("c1", "{\"at\":1}", "general"), round("c2", "2", "ddr_authoring")];
    let came = Came { answer: "Found.", rounds, told_mode: Some("ddr_authoring"), ..Came::default() };
    let one = exchange(1, "general", &json!({ "Instruction": "Look it up." }), came);
    let telling = tell(&earlier(vec![one], None), now(2, 10_000), &catalog());
    let [
        Told::Said(own),
        Told::Replied(first),
        Told::Said(after),
        Told::Replied(_),
        Told::Said(last),
        answer,
    ] = telling.told.as_slice()
    else {
        panic!("{:?}", telling.told)
    };
    assert_eq!(own.instruction, Instruction::User("Look it up.".to_owned()));
    assert!(matches!(first.as_slice(), [Item::Call(call)] if call.call_id == "c1"), "{first:?}");
    assert_eq!((after.tool_outputs.len(), &after.update), (1, &None));
    assert_eq!((last.mode.as_str(), last.tool_outputs[0].call.call_id.as_str()), ("ddr_authoring", "c2"));
    assert!(last.update.as_deref().unwrap().starts_with("[MODE_INSTRUCTIONS: ddr_authoring]"));
    assert_eq!(*answer, Told::Replied(vec![Item::Text("Found.".to_owned())]));
    assert_eq!(telling.known.mode.as_deref(), Some("ddr_authoring"));
}

#[test]
fn a_turn_of_a_version_before_is_told_with_its_calls_as_one_round() {
    let report = json!({ "SchemaVersion": 1, "Kind": "completed", "Report": {}, "Exchanges": [
        { "CallId": "c1", "Name": "look", "Arguments": "{}", "Outcome": { "ResultJson": "1" } },
        { "CallId": "c2", "Name": "look", "Arguments": "", "Outcome": { "ErrorMessage": "gone" } },
    ], "Response": serde_json::to_value(outcome(Came { answer: "Found.", ..Came::default() }).response).unwrap() });
    let stored = Outcome::from_json(report.to_string().as_bytes()).unwrap();
    let one = Exchange::of(&head(1, "general"), &request(&json!({})), &[], &stored).unwrap();
    let telling = tell(&earlier(vec![one], None), now(2, 10_000), &catalog());
    let [Told::Said(_), Told::Replied(calls), Told::Said(results), Told::Replied(_)] =
        telling.told.as_slice()
    else {
        panic!("{:?}", telling.told)
    };
    assert_eq!((calls.len(), results.tool_outputs.len(), results.mode.as_str()), (2, 2, "general"));
    assert!(matches!(&calls[1], Item::Call(call) if call.arguments == "{}"), "no arguments are no JSON");
}

#[test]
fn a_turn_without_an_answer_is_not_told() {
    let failed = Outcome::failed(contracts::ErrorCode::Internal.into(), Report::default());
    assert_eq!(Exchange::of(&head(1, "general"), &request(&json!({})), &[], &failed), None);
}

#[test]
fn what_changed_is_told_where_it_changed_and_the_system_message_says_what_held_first() {
    let came = |solution| Came { answer: "Yes.", solution, told_mode: None, ..Came::default() };
    let exchanges = vec![
        exchange(1, "general", &json!({ "SolutionContextText": "Rust." }), came(Some("Rust."))),
        exchange(2, "ddr_authoring", &json!({}), came(Some("Rust."))),
        exchange(3, "ddr_authoring", &json!({ "SolutionContextText": "Go." }), came(Some("Go."))),
        exchange(4, "ddr_authoring", &json!({ "SolutionContextText": "" }), came(None)),
    ];
    let texts = ["Rust.", "Go."].map(|text| (Fingerprint::of_bytes(text.as_bytes()), text.to_owned()));
    let earlier = Earlier { solutions: Solutions::from(texts), ..earlier(exchanges, None) };
    let telling = tell(&earlier, now(5, 10_000), &catalog());
    assert_eq!(telling.window.mode, "general");
    assert_eq!(
        telling.window.solution.as_ref().unwrap().turn.as_str(),
        "t1",
        "named by the turn that brought it"
    );
    let updates: Vec<&str> =
        telling.told.iter().filter_map(said).map(|said| said.update.as_deref().unwrap_or_default()).collect();
    assert_eq!(updates[0], "");
    assert!(updates[1].starts_with("[MODE_INSTRUCTIONS: ddr_authoring]") && !updates[1].contains("SOLUTION"));
    assert!(updates[2].starts_with("[SOLUTION_CONTEXT]") && updates[2].ends_with("Go."), "{}", updates[2]);
    assert!(updates[3].contains("no longer holds"), "{}", updates[3]);
}

#[test]
fn the_window_stays_until_it_is_full_and_then_a_quarter_is_made_free() {
    let turns_of = |count: u64| (1..=count).map(|n| of_tokens(n, 100)).collect::<Vec<_>>();
    let mut window: Option<Window> = None;
    let mut begins = Vec::new();
    for sequence in 2..=24 {
        let at_hand = turns_of(sequence - 1);
        let from = window.as_ref().map_or(1, |window| window.from);
        let at_hand = at_hand.into_iter().filter(|exchange| exchange.place >= from).collect();
        let telling = tell(&earlier(at_hand, window), now(sequence, 1_000), &catalog());
        assert!(telling.tokens <= 1_000 && turns(&telling) >= 1);
        begins.push(telling.window.from);
        window = Some(telling.window);
    }
    let mut moves = begins.clone();
    moves.dedup();
    assert_eq!(moves, [1, 5, 9, 13, 17], "a block at a time: {begins:?}");
}

#[test]
fn files_go_before_words_the_oldest_first_and_are_named_with_their_hash() {
    let exchanges = vec![with_file(1, 3_000), with_file(2, 3_000), of_tokens(3, 200)];
    let all = tell(&earlier(exchanges.clone(), None), now(4, 20_000), &catalog());
    assert!(all.not_repeated.is_empty());
    let first = said(&all.told[0]).unwrap();
    assert!(first.files_block.as_deref().unwrap().contains("yyy") && first.attachments.len() == 1);

    let tight = tell(&earlier(exchanges.clone(), None), now(4, 7_000), &catalog());
    assert_eq!((turns(&tight), tight.window.from, tight.window.whole_from), (3, 1, 2));
    let first = said(&tight.told[0]).unwrap();
    assert_eq!(first.attachments, []);
    insta::assert_snapshot!(first.files_block.as_deref().unwrap());
    assert!(
        tight.not_repeated[0].starts_with("src/1.rs (")
            && tight.not_repeated[1].contains("pasted image shot")
    );
    assert!(said(&tight.told[2]).unwrap().files_block.as_deref().unwrap().contains("yyy"), "newest first");

    let again = tell(&earlier(exchanges, Some(tight.window)), now(4, 7_000), &catalog());
    assert_eq!((again.told, again.not_repeated), (tight.told, Vec::new()), "told and warned of once");
}

#[test]
fn files_of_turns_that_are_left_out_are_named_from_then_on_and_warned_of_once() {
    let exchanges = || vec![with_file(1, 3_000), of_tokens(2, 900), of_tokens(3, 900)];
    let tight = tell(&earlier(exchanges(), None), now(4, 1_400), &catalog());
    assert_eq!((turns(&tight), tight.window.from, tight.not_repeated.len()), (1, 3, 2));
    let block = |telling: &Telling| said(&telling.told[0]).unwrap().earlier_block.clone().unwrap();
    assert!(block(&tight).starts_with("[EARLIER_TURNS]") && block(&tight).contains("\n- src/1.rs ("));
    let next = vec![of_tokens(3, 900), of_tokens(4, 100)];
    let again = tell(&earlier(next, tight.kept.clone()), now(5, 1_400), &catalog());
    assert_eq!((block(&again), again.not_repeated), (block(&tight), Vec::new()));

    let unread = Earlier {
        left_out: LeftOut::Unreadable,
        left: Some((1, vec!["src/1.rs (hash)".to_owned()])),
        ..earlier(vec![of_tokens(2, 100)], None)
    };
    let telling = tell(&unread, now(3, 1_400), &catalog());
    assert!(block(&telling).ends_with("\n- src/1.rs (hash)"), "{}", block(&telling));
    assert_eq!((telling.kept, telling.not_repeated.len()), (None, 1), "the turn may be told tomorrow");
}

#[test]
fn a_provider_that_can_t_read_a_file_is_told_the_names_of_all_and_their_user_is_warned() {
    let exchanges = vec![with_file(1, 100), of_tokens(2, 100)];
    let telling = tell(&earlier(exchanges, None), Now { briefly: true, ..now(3, 10_000) }, &catalog());
    let first = said(&telling.told[0]).unwrap();
    assert!(first.attachments.is_empty() && first.files_block.as_deref().unwrap().contains("not repeated"));
    assert_eq!((telling.not_repeated.len(), telling.window.from, telling.window.whole_from), (2, 1, 3));
}

#[test]
fn a_turn_that_is_too_long_for_the_room_has_its_long_values_cut_before_it_is_left_out() {
    let rounds = vec![round("c1", &"z".repeat(40_000), "general")];
    let long = || {
        let came = Came { answer: "Read.", rounds: rounds.clone(), ..Came::default() };
        vec![exchange(1, "general", &json!({}), came)]
    };
    let length = |room| {
        let telling = tell(&earlier(long(), None), now(2, room), &catalog());
        let outputs = telling.told.iter().filter_map(said).flat_map(|said| said.tool_outputs.clone());
        outputs.map(|output| format!("{:?}", output.outcome).len()).sum::<usize>()
    };
    assert!(length(20_000) > 40_000);
    assert!((4_096..4_300).contains(&length(5_000)));
    assert_eq!(length(500), 0, "no room even so");
}

#[test]
fn a_walk_ends_where_the_telling_began_or_where_there_is_no_room() {
    let window = Window {
        from: 3,
        whole_from: 3,
        mode: "general".to_owned(),
        solution: Some(SolutionContext {
            session: None,
            turn: TurnId::new("t1").unwrap(),
            request: Fingerprint::of_bytes(b"r"),
            request_by: None,
            text: Fingerprint::of_bytes(b"t"),
        }),
        files: Vec::new(),
        summary: None,
    };
    let mut walk = Walk::new(1_000, None);
    assert_eq!(walk.first(), 1);
    let came = Came { answer: "Yes.", window: Some(window.clone()), ..Came::default() };
    assert!(walk.take(exchange(5, "general", &json!({}), came)));
    assert_eq!(walk.first(), 3, "the newest turn says where its telling began");
    assert!(walk.take(of_tokens(4, 900)) && !walk.take(of_tokens(3, 900)));
    let earlier = walk.ended(LeftOut::NoRoom);
    assert_eq!(earlier.exchanges.iter().map(|exchange| exchange.place).collect::<Vec<_>>(), [4, 5]);
    assert_eq!((earlier.window, earlier.left_out), (Some(window), LeftOut::NoRoom));
}

proptest! {
    #[test]
    fn what_is_told_never_takes_more_than_its_room(
        lengths in prop::collection::vec(20_u32..300, 0..20),
        from in 1_u64..20,
        room in 0_u32..2_000,
    ) {
        let all: Vec<_> = (1..).zip(&lengths).map(|(n, tokens)| of_tokens(n, *tokens)).collect();
        let next = u64::try_from(all.len()).unwrap() + 1;
        let mode = "general".to_owned();
        let window = Window { from, whole_from: from, mode, solution: None, files: Vec::new(), summary: None };
        let telling = tell(&earlier(all, Some(window)), now(next, room), &catalog());
        prop_assert!(telling.tokens <= room);
        prop_assert!(telling.window.from <= telling.window.whole_from && telling.window.whole_from <= next);
    }
}

#[test]
fn a_turn_in_words_has_what_was_asked_done_and_answered_and_no_long_value() {
    let looked = round("c1", &"y".repeat(4_000), "general");
    let came = Came { answer: "Read.\nDone.", rounds: vec![looked], ..Came::default() };
    let file =
        json!({ "RelativePath": "a.rs", "FileName": "a.rs", "Contents": "fn a() {}", "Origin": "ide" });
    let words = exchange(3, "general", &json!({ "InputArtifacts": [file] }), came).in_words();
    assert!(words.starts_with("Turn 3\nUser:\n    Look.\nFiles: a.rs ("), "{words}");
    assert!(words.contains("Name: look") && words.contains("of 4000 characters]"), "{words}");
    assert!(words.ends_with("Assistant:\n    Read.\n    Done."), "{words}");
    assert!(!words.contains("fn a() {}") && words.len() < 1_000, "{words}");
}
