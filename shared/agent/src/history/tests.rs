use contracts::{
    AgentExecuteRequest, AgentExecuteResponse, Fingerprint, Timestamp,
    id::{SessionId, TurnId, UserId},
    request::UserTurn,
    response::{Final, Metadata, ToolOutcome},
};
use proptest::prelude::*;
use protocol::{
    ancestry::ParentRef,
    chain::ChainStart,
    detail::Report,
    id::{AttemptId, SessionKey},
    session::SolutionContext,
    turn::{EndReason, Settlement, Stage, State, Turn, Verdict},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    attachments,
    attempt::{AttemptState, history_window::HistoryWindow, prompt_state::SolutionTexts},
    context::PromptLimits,
    mode::Catalog,
    model::{HistoryItem, Instruction, Message, MessagePhase, ReplyItem, TextPart, Wire},
    outcome::Outcome,
    tool::{
        self,
        rounds::{ReplayTarget, Round, ToolCallRecord},
    },
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
        parent: ParentRef::in_session(sequence - 1),
        base_depth: 0,
        fingerprint: Fingerprint::hash_bytes(&sequence.to_be_bytes()),
        submission_id: None,
        requested_by: UserId::new("ann").unwrap(),
        created: Timestamp::from_millis(0),
        mode: mode.to_owned(),
        chain: ChainStart::First,
        attempt: attempt.clone(),
        due: None,
        takeovers: 0,
        streamed: false,
        suspended_by: None,
        accepted_results: None,
        ended_by: None,
        last_step: None,
        checkpoint: None,
        spent: None,
        meters: Vec::new(),
        is_imported: false,
        is_unstored: false,
        answer: None,
        state: State::Running {
            lease_ends: Timestamp::from_millis(0),
            stage: Stage { round: 0, attempts: vec![attempt] },
        },
    }
}

/// The result of a turn.
#[derive(Default)]
struct TurnResult<'a> {
    answer: &'a str,
    rounds: Vec<Round>,
    chain_mode: Option<&'a str>,
    solution: Option<&'a str>,
    window: Option<HistoryWindow>,
}

fn outcome(result: TurnResult<'_>) -> Outcome {
    let answer = Final {
        metadata: Metadata {
            session_id: SessionId::new("s").unwrap(),
            turn_id: TurnId::new("t").unwrap(),
            mode_display_name: "General".to_owned(),
        },
        primary_output_text: result.answer.to_owned(),
        files: Vec::new(),
        tool_results: Vec::new(),
        user_warnings: Vec::new(),
        usage: None,
    };
    let report = Report {
        chain_mode: result.chain_mode.map(str::to_owned),
        chain_solution: result.solution.map(|text| Fingerprint::hash_bytes(text.as_bytes())),
        ..Report::default()
    };
    Outcome::completed(AgentExecuteResponse::Final(answer), report, None)
        .with_history(result.rounds, result.window)
}

fn exchange(sequence: u64, mode: &str, members: &Value, result: TurnResult<'_>) -> Exchange {
    let request = request(members);
    let refs = attachments::choose(&request, &PromptLimits::default(), &[]);
    Exchange::new(&head(sequence, mode), &request, &refs, &outcome(result)).unwrap()
}

/// Creates a turn of about this many tokens.
fn of_tokens(sequence: u64, tokens: u32) -> Exchange {
    let words = "x".repeat(usize::try_from(tokens.saturating_sub(18)).unwrap() * 3);
    exchange(
        sequence,
        "general",
        &json!({ "Instruction": words }),
        TurnResult { answer: "Yes.", ..TurnResult::default() },
    )
}

fn with_file(sequence: u64, tokens: usize) -> Exchange {
    let file = json!([{
        "RelativePath": format!("src/{sequence}.rs"), "FileName": format!("{sequence}.rs"),
        "Contents": "y".repeat(tokens * 3), "Origin": "ide",
    }]);
    let image = json!([{ "Id": "shot", "MimeType": "image/png", "DataBase64": "iVBORw0KGgpyZXN0" }]);
    let members = json!({ "InputArtifacts": file, "ClipboardImages": image });
    exchange(sequence, "general", &members, TurnResult { answer: "Read.", ..TurnResult::default() })
}

fn round(id: &str, result: &str, mode: &str) -> Round {
    let call = ToolCallRecord {
        call_id: id.to_owned(),
        provider_id: None,
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
        ran_by: None,
        connection: None,
        execution_ms: None,
        files: crate::tool::rounds::CallFiles::default(),
        approval: None,
    };
    Round { calls: vec![call], mode: Some(mode.to_owned()), ..Round::default() }
}

fn window_from(from: u64) -> HistoryWindow {
    HistoryWindow {
        from,
        full_from: from,
        mode: "general".to_owned(),
        solution: Some(SolutionContext {
            session: None,
            turn: TurnId::new("t1").unwrap(),
            request: Fingerprint::hash_bytes(b"r"),
            submission_id: None,
            text: Fingerprint::hash_bytes(b"t"),
        }),
        files: Vec::new(),
        summary: None,
    }
}

fn earlier(exchanges: Vec<Exchange>, window: Option<HistoryWindow>) -> LoadedHistory {
    LoadedHistory { exchanges, window, ..LoadedHistory::default() }
}

fn now(sequence: u64, token_budget: u32) -> RenderTarget<'static> {
    RenderTarget {
        depth: sequence,
        mode: "general",
        solution: None,
        model: ReplayTarget { model: "m", provider: "", wire: Wire::Responses, includes_reasoning: false },
        token_budget,
        ancestry: &[],
        summary: None,
        omits_files: false,
    }
}

fn message_of(item: &HistoryItem) -> Option<&Message> {
    match item {
        HistoryItem::Message(message) => Some(message),
        HistoryItem::Reply(_) => None,
    }
}

/// Counts the replayed turns, by the user's first message in each.
fn turns(rendered: &RenderedHistory) -> usize {
    let own = |message: &&Message| message.instruction != Instruction::ToolResults;
    rendered.items.iter().filter_map(message_of).filter(own).count()
}

#[test]
fn turn_renders_instruction_then_rounds_then_answer() {
    let rounds = vec![round("c1", "{\"at\":1}", "general"), round("c2", "2", "ddr_authoring")];
    let result =
        TurnResult { answer: "Found.", rounds, chain_mode: Some("ddr_authoring"), ..TurnResult::default() };
    let one = exchange(1, "general", &json!({ "Instruction": "Look it up." }), result);
    let rendered = render(&earlier(vec![one], None), now(2, 10_000), &catalog());
    let [
        HistoryItem::Message(own),
        HistoryItem::Reply(first),
        HistoryItem::Message(after),
        HistoryItem::Reply(_),
        HistoryItem::Message(last),
        answer,
    ] = rendered.items.as_slice()
    else {
        panic!("{:?}", rendered.items)
    };
    assert_eq!(own.instruction, Instruction::User("Look it up.".to_owned()));
    assert!(matches!(first.as_slice(), [ReplyItem::Call(call)] if call.call_id == "c1"), "{first:?}");
    assert_eq!((after.tool_outputs.len(), &after.update), (1, &None));
    assert_eq!((last.mode.as_str(), last.tool_outputs[0].call.call_id.as_str()), ("ddr_authoring", "c2"));
    assert!(last.update.as_deref().unwrap().starts_with("[MODE_INSTRUCTIONS: ddr_authoring]"));
    assert_eq!(*answer, HistoryItem::Reply(vec![ReplyItem::text("Found.")]));
    assert_eq!(rendered.prompt_state.mode.as_deref(), Some("ddr_authoring"));
}

#[test]
fn phases_of_an_answer_are_stored_and_replayed() {
    let part = |start, phase| TextPart { calls_before: 0, reasoning_before: 0, start, phase };
    let (commentary, answer) = (Some(MessagePhase::Commentary), Some(MessagePhase::FinalAnswer));
    let parts = [part(0, commentary), part(8, answer)];
    let message = |text: &str, phase| ReplyItem::Text { text: text.to_owned(), phase };
    for (parts, written, expected) in [
        (&parts[..], "Looking.\n\nFound.", vec![message("Looking.", commentary), message("Found.", answer)]),
        // The text was filtered after the reply.
        (&parts, "Looking.\n\n{}", vec![message("Looking.\n\nFound.", answer)]),
        (&[part(0, None)], "Looking.\n\nFound.", vec![message("Looking.\n\nFound.", None)]),
    ] {
        let result = TurnResult { answer: "Looking.\n\nFound.", ..TurnResult::default() };
        let outcome = outcome(result).with_answer_parts(parts, written);
        let stored = Outcome::from_json(&outcome.to_json()).unwrap();
        let exchange = Exchange::new(&head(1, "general"), &request(&json!({})), &[], &stored).unwrap();
        let rendered = render(&earlier(vec![exchange], None), now(2, 10_000), &catalog());
        assert_eq!(rendered.items.last(), Some(&HistoryItem::Reply(expected)));
    }
}

#[test]
fn round_without_recorded_mode_renders_in_the_turn_mode() {
    let report = json!({ "SchemaVersion": 1, "Kind": "completed", "Report": {}, "ToolRounds": [{ "Calls": [
        { "CallId": "c1", "Name": "look", "Arguments": "{}", "Outcome": { "ResultJson": "1" } },
        { "CallId": "c2", "Name": "look", "Arguments": "", "Outcome": { "ErrorMessage": "gone" } },
    ] }], "Response": serde_json::to_value(outcome(TurnResult { answer: "Found.", ..TurnResult::default() }).response).unwrap() });
    let stored = Outcome::from_json(report.to_string().as_bytes()).unwrap();
    let one = Exchange::new(&head(1, "general"), &request(&json!({})), &[], &stored).unwrap();
    let rendered = render(&earlier(vec![one], None), now(2, 10_000), &catalog());
    let [
        HistoryItem::Message(_),
        HistoryItem::Reply(calls),
        HistoryItem::Message(results),
        HistoryItem::Reply(_),
    ] = rendered.items.as_slice()
    else {
        panic!("{:?}", rendered.items)
    };
    assert_eq!((calls.len(), results.tool_outputs.len(), results.mode.as_str()), (2, 2, "general"));
    assert!(matches!(&calls[1], ReplyItem::Call(call) if call.arguments == "{}"), "no arguments are no JSON");
}

#[test]
fn turn_ended_during_tool_calls_renders_calls_and_note() {
    let verdict = Verdict::Ended(EndReason::Cancelled);
    let settlement = Settlement { verdict, at: Timestamp::from_millis(1) };
    let turn = Turn { state: State::Finalized(settlement), ..head(1, "general") };
    let pending = ToolCallRecord { outcome: None, ..round("c2", "", "general").calls[0].clone() };
    let mut state = AttemptState::default();
    let last = Round { calls: vec![pending], ..Round::default() };
    (state.rounds.earlier, state.rounds.last) = (vec![round("c1", "1", "general")], Some(last));
    let request = request(&json!({ "Instruction": "Delete it." }));
    let ended = Exchange::from_state(&turn, &request, &[], &state).unwrap();
    assert!(ended.is_unanswered && ended.window.is_none());

    let transcript = ended.to_transcript();
    for expected in
        ["Delete it.", "Name: look", "The call may have run.", "[NO_ANSWER]", "the user cancelled it"]
    {
        assert!(transcript.contains(expected), "{transcript}");
    }
    let items = render(&earlier(vec![ended], None), now(2, 10_000), &catalog()).items;
    let [
        HistoryItem::Message(own),
        HistoryItem::Reply(_),
        HistoryItem::Message(_),
        HistoryItem::Reply(_),
        HistoryItem::Message(last),
        HistoryItem::Reply(note),
    ] = items.as_slice()
    else {
        panic!("{items:?}")
    };
    assert_eq!(own.instruction, Instruction::User("Delete it.".to_owned()));
    assert!(
        matches!(&last.tool_outputs[0].outcome, ToolOutcome::ErrorMessage(text) if text.contains("may have run"))
    );
    assert!(
        matches!(note.as_slice(), [ReplyItem::Text { text, .. }] if text.starts_with("[NO_ANSWER]")),
        "{note:?}"
    );
    assert_eq!(
        Exchange::from_state(&turn, &request, &[], &AttemptState::default()),
        None,
        "nothing happened"
    );
}

#[test]
fn window_survives_a_newest_turn_without_answer() {
    let result = TurnResult { answer: "Yes.", window: Some(window_from(3)), ..TurnResult::default() };
    let mut unanswered = of_tokens(6, 50);
    unanswered.is_unanswered = true;
    let mut walk = AncestryWalk::new(1_000, None);
    assert!(walk.push(unanswered) && walk.push(exchange(5, "general", &json!({}), result)));
    assert_eq!(walk.finish(Truncation::None).window, Some(window_from(3)));
}

#[test]
fn turn_without_answer_or_calls_has_no_exchange() {
    let failed = Outcome::failed(contracts::ErrorCode::Internal.into(), Report::default());
    assert_eq!(Exchange::new(&head(1, "general"), &request(&json!({})), &[], &failed), None);
}

#[test]
fn changes_render_in_place_and_system_message_keeps_initial_state() {
    let result =
        |solution| TurnResult { answer: "Yes.", solution, chain_mode: None, ..TurnResult::default() };
    let exchanges = vec![
        exchange(1, "general", &json!({ "SolutionContextText": "Rust." }), result(Some("Rust."))),
        exchange(2, "ddr_authoring", &json!({}), result(Some("Rust."))),
        exchange(3, "ddr_authoring", &json!({ "SolutionContextText": "Go." }), result(Some("Go."))),
        exchange(4, "ddr_authoring", &json!({ "SolutionContextText": "" }), result(None)),
    ];
    let texts = ["Rust.", "Go."].map(|text| (Fingerprint::hash_bytes(text.as_bytes()), text.to_owned()));
    let earlier = LoadedHistory { solution_texts: SolutionTexts::from(texts), ..earlier(exchanges, None) };
    let rendered = render(&earlier, now(5, 10_000), &catalog());
    assert_eq!(rendered.window.mode, "general");
    assert_eq!(
        rendered.window.solution.as_ref().unwrap().turn.as_str(),
        "t1",
        "named by the turn that brought it"
    );
    let updates: Vec<&str> = rendered
        .items
        .iter()
        .filter_map(message_of)
        .map(|message| message.update.as_deref().unwrap_or_default())
        .collect();
    assert_eq!(updates[0], "");
    assert!(updates[1].starts_with("[MODE_INSTRUCTIONS: ddr_authoring]") && !updates[1].contains("SOLUTION"));
    assert!(updates[2].starts_with("[SOLUTION_CONTEXT]") && updates[2].ends_with("Go."), "{}", updates[2]);
    assert!(updates[3].contains("no longer holds"), "{}", updates[3]);
}

#[test]
fn window_moves_only_when_full_and_frees_a_quarter() {
    let turns_of = |count: u64| (1..=count).map(|n| of_tokens(n, 100)).collect::<Vec<_>>();
    let mut window: Option<HistoryWindow> = None;
    let mut begins = Vec::new();
    for sequence in 2..=24 {
        let at_hand = turns_of(sequence - 1);
        let from = window.as_ref().map_or(1, |window| window.from);
        let at_hand = at_hand.into_iter().filter(|exchange| exchange.depth >= from).collect();
        let rendered = render(&earlier(at_hand, window), now(sequence, 1_000), &catalog());
        assert!(rendered.tokens <= 1_000 && turns(&rendered) >= 1);
        begins.push(rendered.window.from);
        window = Some(rendered.window);
    }
    let mut moves = begins.clone();
    moves.dedup();
    assert_eq!(moves, [1, 5, 9, 13, 17], "a block at a time: {begins:?}");
}

#[test]
fn oldest_files_are_dropped_first_and_named_with_hash() {
    let exchanges = vec![with_file(1, 3_000), with_file(2, 3_000), of_tokens(3, 200)];
    let all = render(&earlier(exchanges.clone(), None), now(4, 20_000), &catalog());
    assert!(all.omitted_files.is_empty());
    let first = message_of(&all.items[0]).unwrap();
    assert!(first.files_block.as_deref().unwrap().contains("yyy") && first.attachments.len() == 1);

    let tight = render(&earlier(exchanges.clone(), None), now(4, 7_000), &catalog());
    assert_eq!((turns(&tight), tight.window.from, tight.window.full_from), (3, 1, 2));
    let first = message_of(&tight.items[0]).unwrap();
    assert_eq!(first.attachments, []);
    insta::assert_snapshot!(first.files_block.as_deref().unwrap());
    assert!(
        tight.omitted_files[0].starts_with("src/1.rs (")
            && tight.omitted_files[1].contains("pasted image shot")
    );
    assert!(
        message_of(&tight.items[2]).unwrap().files_block.as_deref().unwrap().contains("yyy"),
        "newest first"
    );

    let again = render(&earlier(exchanges, Some(tight.window)), now(4, 7_000), &catalog());
    assert_eq!((again.items, again.omitted_files), (tight.items, Vec::new()), "told and warned of once");
}

#[test]
fn files_of_dropped_turns_stay_named_and_are_warned_of_once() {
    let exchanges = || vec![with_file(1, 3_000), of_tokens(2, 900), of_tokens(3, 900)];
    let tight = render(&earlier(exchanges(), None), now(4, 1_400), &catalog());
    assert_eq!((turns(&tight), tight.window.from, tight.omitted_files.len()), (1, 3, 2));
    let block = |rendered: &RenderedHistory| {
        message_of(&rendered.items[0]).unwrap().earlier_turns_block.clone().unwrap()
    };
    assert!(block(&tight).starts_with("[EARLIER_TURNS]") && block(&tight).contains("\n- src/1.rs ("));
    let next = vec![of_tokens(3, 900), of_tokens(4, 100)];
    let again = render(&earlier(next, tight.next_window.clone()), now(5, 1_400), &catalog());
    assert_eq!((block(&again), again.omitted_files), (block(&tight), Vec::new()));

    let unread = LoadedHistory {
        truncation: Truncation::Unreadable,
        excluded: Some((1, vec!["src/1.rs (hash)".to_owned()])),
        ..earlier(vec![of_tokens(2, 100)], None)
    };
    let rendered = render(&unread, now(3, 1_400), &catalog());
    assert!(block(&rendered).ends_with("\n- src/1.rs (hash)"), "{}", block(&rendered));
    assert_eq!(
        (rendered.next_window, rendered.omitted_files.len()),
        (None, 1),
        "the turn may be told tomorrow"
    );
}

#[test]
fn unreadable_file_leaves_only_names_and_warns_user() {
    let exchanges = vec![with_file(1, 100), of_tokens(2, 100)];
    let rendered =
        render(&earlier(exchanges, None), RenderTarget { omits_files: true, ..now(3, 10_000) }, &catalog());
    let first = message_of(&rendered.items[0]).unwrap();
    assert!(first.attachments.is_empty() && first.files_block.as_deref().unwrap().contains("not repeated"));
    assert_eq!((rendered.omitted_files.len(), rendered.window.from, rendered.window.full_from), (2, 1, 3));
}

#[test]
fn turn_over_budget_is_truncated_before_it_is_dropped() {
    let rounds = vec![round("c1", &"z".repeat(40_000), "general")];
    let long = || {
        let result = TurnResult { answer: "Read.", rounds: rounds.clone(), ..TurnResult::default() };
        vec![exchange(1, "general", &json!({}), result)]
    };
    let length = |token_budget| {
        let rendered = render(&earlier(long(), None), now(2, token_budget), &catalog());
        let outputs =
            rendered.items.iter().filter_map(message_of).flat_map(|message| message.tool_outputs.clone());
        outputs.map(|output| format!("{:?}", output.outcome).len()).sum::<usize>()
    };
    assert!(length(20_000) > 40_000);
    assert!((4_096..4_300).contains(&length(5_000)));
    assert_eq!(length(500), 0, "no room even so");
}

#[test]
fn walk_ends_at_window_start_or_token_budget() {
    let window = window_from(3);
    let mut walk = AncestryWalk::new(1_000, None);
    assert_eq!(walk.oldest_wanted(), 1);
    let result = TurnResult { answer: "Yes.", window: Some(window.clone()), ..TurnResult::default() };
    assert!(walk.push(exchange(5, "general", &json!({}), result)));
    assert_eq!(walk.oldest_wanted(), 3, "the newest turn says where its window starts");
    assert!(walk.push(of_tokens(4, 900)) && !walk.push(of_tokens(3, 900)));
    let earlier = walk.finish(Truncation::TokenBudget);
    assert_eq!(earlier.exchanges.iter().map(|exchange| exchange.depth).collect::<Vec<_>>(), [4, 5]);
    assert_eq!((earlier.window, earlier.truncation), (Some(window), Truncation::TokenBudget));
}

proptest! {
    #[test]
    fn rendered_history_never_exceeds_token_budget(
        lengths in prop::collection::vec(20_u32..300, 0..20),
        from in 1_u64..20,
        token_budget in 0_u32..2_000,
    ) {
        let all: Vec<_> = (1..).zip(&lengths).map(|(n, tokens)| of_tokens(n, *tokens)).collect();
        let next = u64::try_from(all.len()).unwrap() + 1;
        let mode = "general".to_owned();
        let window = HistoryWindow { from, full_from: from, mode, solution: None, files: Vec::new(), summary: None };
        let rendered = render(&earlier(all, Some(window)), now(next, token_budget), &catalog());
        prop_assert!(rendered.tokens <= token_budget);
        prop_assert!(rendered.window.from <= rendered.window.full_from && rendered.window.full_from <= next);
    }
}

#[test]
fn transcript_has_instruction_calls_and_answer_without_long_values() {
    let looked = round("c1", &"y".repeat(4_000), "general");
    let result = TurnResult { answer: "Read.\nDone.", rounds: vec![looked], ..TurnResult::default() };
    let file =
        json!({ "RelativePath": "a.rs", "FileName": "a.rs", "Contents": "fn a() {}", "Origin": "ide" });
    let words = exchange(3, "general", &json!({ "InputArtifacts": [file] }), result).to_transcript();
    assert!(words.starts_with("Turn 3\nUser:\n    Look.\nFiles: a.rs ("), "{words}");
    assert!(words.contains("Name: look") && words.contains("of 4000 characters]"), "{words}");
    assert!(words.ends_with("Assistant:\n    Read.\n    Done."), "{words}");
    assert!(!words.contains("fn a() {}") && words.len() < 1_000, "{words}");
}

#[test]
fn snapshot_restores_the_exchanges_of_its_session() {
    // The session was forked from turn 1.
    let turn = Turn { base_depth: 1, ..head(3, "general") };
    let rounds = vec![round("c1", "{\"at\":1}", "general")];
    let result = || TurnResult { answer: "Found.", rounds: rounds.clone(), ..TurnResult::default() };
    let looked = || exchange(2, "ddr_authoring", &json!({ "SolutionContextText": "Rust." }), result());
    let exchanges = vec![of_tokens(1, 100), looked(), with_file(3, 100).into_brief()];
    let history = LoadedHistory { token_budget: 10_000, ..earlier(exchanges, None) };
    let mut own = with_file(4, 100);
    own.window = Some(render(&history, now(4, 10_000), &catalog()).window);
    let json = snapshot::to_json(&turn, &history, &own).unwrap();
    let restored = snapshot::from_json(&json, &turn, 10_000).unwrap();
    assert_eq!(restored, Some(vec![own, with_file(3, 100).into_brief(), looked()]));
    assert_eq!(snapshot::from_json(&json, &turn, 10_001).unwrap(), None, "files may have been left out");
    let newer =
        String::from_utf8(json.clone()).unwrap().replace("\"SchemaVersion\":1", "\"SchemaVersion\":2");
    assert_eq!(snapshot::from_json(newer.as_bytes(), &turn, 10_000).unwrap(), None);
    for other in [head(3, "general"), Turn { base_depth: 2, ..head(2, "general") }] {
        assert_eq!(
            snapshot::from_json(&json, &other, 10_000).unwrap_err().to_string(),
            "the history snapshot is of another turn"
        );
    }
    let broken = snapshot::from_json(&json[..json.len() - 1], &turn, 10_000).unwrap_err();
    assert!(!format!("{broken:?}").contains("Found."), "{broken:?}");
}

#[test]
fn snapshot_has_the_newest_exchanges_up_to_a_mebibyte() {
    let turn = head(4, "general");
    let history = earlier(vec![of_tokens(2, 100), of_tokens(3, 300_000)], None);
    let depths = |own: Exchange| {
        let json = snapshot::to_json(&turn, &history, &own)?;
        assert!(json.len() < (1 << 20) + 4_096);
        let restored = snapshot::from_json(&json, &turn, 0).unwrap()?;
        Some(restored.iter().map(|exchange| exchange.depth).collect::<Vec<_>>())
    };
    assert_eq!(depths(of_tokens(4, 100)), Some(vec![4, 3, 2]));
    assert_eq!(depths(of_tokens(4, 100_000)), Some(vec![4]));
    assert_eq!(depths(of_tokens(4, 349_543)), None);
}
