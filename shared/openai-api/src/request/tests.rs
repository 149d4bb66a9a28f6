use contracts::{
    UserTurn,
    id::TurnId,
    request::{
        ChatCall, ChatContent as Content, ChatFile as InputFile, ChatResult as FunctionOutput, UserMessage,
    },
    response::ToolOutcome,
};
use histories::Hint;

use super::*;
use crate::files::{FileId, Purpose};

fn parse(body: Value) -> CreateResponse {
    CreateResponse::parse(&Body::parse(body.to_string().as_bytes()).unwrap())
        .unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn refused(body: Value) -> (String, String) {
    let error = CreateResponse::parse(&Body::parse(body.to_string().as_bytes()).unwrap())
        .expect_err("an invalid request");
    assert_eq!(error.kind(), "invalid_request_error");
    (error.param.unwrap_or_default(), error.code.unwrap_or_default())
}

fn with(members: Value) -> Value {
    let mut body = json!({"model": "gpt-x", "input": "Hi"});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

fn previous() -> ResponseId {
    ResponseId { session: SessionId::new("s").unwrap(), turn: TurnId::new("t").unwrap(), round: 1 }
}

fn turn(request: &CreateResponse) -> UserTurn {
    let Input::Message(message) = &request.input else { panic!("no message") };
    request.user_turn(&previous(), message).unwrap()
}

#[test]
fn text_and_instructions_become_a_user_turn() {
    let request = parse(with(json!({"instructions": "Be brief.", "stream": true, "temperature": 0.2})));
    let turn = turn(&request);
    assert_eq!(turn.instruction.as_deref(), Some("Hi"));
    assert_eq!((turn.solution_context_text.as_deref(), turn.streaming), (Some("Be brief."), true));
    let options = turn.options.clone().unwrap();
    assert_eq!(options.model.as_deref(), Some("gpt-x"));
    assert_eq!(
        (&options.repeated["instructions"], &options.repeated["temperature"]),
        (&json!("Be brief."), &json!(0.2))
    );
    let stored = UserTurn::from_canonical(&turn.canonical_json()).unwrap();
    assert_eq!(stored.options, turn.options, "the options are stored with the request");
    assert_eq!(stored.fingerprint(), turn.fingerprint());
}

#[test]
fn model_names_an_agent() {
    let request = parse(with(json!({"model": "agent/workspace"})));
    assert_eq!((request.agent.as_deref(), &request.options.model), (Some("workspace"), &None));
    assert_eq!(turn(&request).agent_context_id.unwrap().as_str(), "workspace");
}

#[test]
fn messages_with_images_and_files_are_joined() {
    let png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let request = parse(with(json!({"input": [
        {"role": "developer", "content": "Answer in French."},
        {"role": "user", "content": [{"type": "input_text", "text": "Look:"},
            {"type": "input_image", "image_url": png, "detail": "auto"},
            {"type": "input_file", "filename": "notes/a.txt", "file_data": "data:text/plain;base64,aGk="}]},
        {"type": "message", "role": "user", "content": "What is it?"},
    ]})));
    assert_eq!(request.instructions, "Answer in French.");
    let turn = turn(&request);
    assert_eq!(turn.instruction.as_deref(), Some("Look:\n\nWhat is it?"));
    assert_eq!((turn.clipboard_images.len(), turn.input_artifacts.len()), (1, 1));
}

#[test]
fn uploaded_files_are_named_by_id() {
    let (purpose, name) = (Purpose::UserData, "a.txt".to_owned());
    let id = FileId { created: 1, expires: 2, purpose, nonce: "n".to_owned(), name };
    let with_part = |part: Value| with(json!({"input": [{"role": "user", "content": [part]}]}));
    let request = parse(with_part(json!({"type": "input_file", "file_id": id.to_string()})));
    let Input::Message(message) = &request.input else { panic!("no message") };
    let expected = InputFile { name: "a.txt".to_owned(), content: Content::Uploaded(id.to_string()) };
    assert_eq!(message.files, [expected]);
    assert!(request.user_turn(&previous(), message).is_err(), "its content wasn't read");
    let image = parse(with_part(json!({"type": "input_image", "file_id": id.to_string()})));
    let Input::Message(message) = &image.input else { panic!("no message") };
    assert_eq!(message.images, [Content::Uploaded(id.to_string())]);
    for (part, code) in [
        (json!({"type": "input_file", "file_id": "file-1"}), "file_not_found"),
        (json!({"type": "input_image", "file_id": "file-1"}), "file_not_found"),
        (
            json!({"type": "input_file", "file_id": id.to_string(), "file_data": "data:a/b;base64,aGk="}),
            "invalid_value",
        ),
    ] {
        let param = "input[0].content[0].file_id".to_owned();
        assert_eq!(refused(with_part(part)), (param, code.to_owned()));
    }
}

fn said(text: &str) -> ChatMessage {
    ChatMessage::User(UserMessage { text: text.to_owned(), ..UserMessage::default() })
}

fn output(id: &str, text: &str) -> FunctionOutput {
    FunctionOutput { call_id: id.to_owned(), output: text.to_owned(), is_error: false }
}

#[test]
fn items_without_a_parent_are_a_chat_with_hints() {
    let (message, call) = (previous().message(0), previous().call(0));
    let request = parse(with(json!({"input": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "First"},
        {"id": "rs_1", "type": "reasoning", "summary": []},
        {"id": call, "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
        {"id": message, "type": "message", "role": "assistant", "status": "completed", "content": "Hi."},
        {"role": "user", "content": "Second"},
    ]})));
    assert_eq!((&request.parent, request.instructions.as_str()), (&Parent::None, "Be kind."));
    let Input::Chat(messages, hints) = &request.input else { panic!("no chat: {:?}", request.input) };
    let call = ChatCall { id: "c".to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let expected = [
        said("First"),
        ChatMessage::Call(call),
        ChatMessage::Result(output("c", "sunny")),
        ChatMessage::Assistant("Hi.".to_owned()),
        said("Second"),
    ];
    assert_eq!(messages, &expected);
    let hint = |message| Hint { message, turn: previous().into(), is_certain: false };
    assert_eq!(hints, &[hint(1), hint(3)]);
    let after = request.after(Parent::Response(previous()));
    assert_eq!(after.options.repeated["previous_response_id"], json!(previous().to_string()));
}

#[test]
fn references_name_the_previous_response() {
    let (message, call) = (previous().message(0), previous().call(0));
    let request = parse(with(json!({"input": [
        {"role": "user", "content": "First"}, {"type": "item_reference", "id": message},
        {"role": "user", "content": "Second"},
    ]})));
    assert_eq!((&request.parent, &request.ancestry), (&Parent::Response(previous()), &Vec::new()));
    assert_eq!(turn(&request).instruction.as_deref(), Some("Second"));
    let request = parse(with(json!({"input": [
        {"type": "item_reference", "id": call},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
        {"role": "user", "content": "Stop."},
    ]})));
    let Input::Outputs(outputs, message) = &request.input else { panic!("no outputs") };
    assert_eq!(
        (outputs.as_slice(), message.clone().map(ChatMessage::User)),
        ([output("c", "sunny")].as_slice(), Some(said("Stop.")))
    );
    let reference =
        json!({"input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "Hi"}]});
    assert_eq!(refused(with(reference)), ("input[0].id".to_owned(), "invalid_value".to_owned()));
}

#[test]
fn messages_of_other_services_after_a_response_are_ancestry() {
    let request = parse(with(json!({"previous_response_id": previous().to_string(), "input": [
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
    ]})));
    let message = request.input.clone();
    assert_eq!((request.ancestry.len(), message), (3, Input::Message(UserMessage::default())));
    let turn = turn(&request);
    assert_eq!((turn.instruction.as_deref(), turn.ancestry.len()), (None, 3));
    let stored = UserTurn::from_canonical(&turn.canonical_json()).unwrap();
    assert_eq!(stored, turn, "the messages are stored with the request");
}

#[test]
fn outputs_follow_the_order_of_calls() {
    let call = |id: &str| contracts::response::ToolCall {
        tool_call_id: id.to_owned(),
        name: "f".to_owned(),
        arguments_json: "{}".to_owned(),
    };
    let calls = [call("a"), call("b")];
    let results =
        tool_continuation(&previous(), &calls, &[output("b", "{\"x\":1}"), output("a", "sunny")], None)
            .unwrap();
    let results: Vec<_> = results.tool_results.iter().map(|result| result.outcome.clone()).collect();
    let json = |text: &str| ToolOutcome::ResultJson(text.to_owned());
    assert_eq!(results, [json("\"sunny\""), json("{\"x\":1}")]);
    let missing = tool_continuation(&previous(), &calls, &[output("a", "x")], None).unwrap_err();
    let name = previous().call(1);
    assert_eq!(missing.message, format!("No tool output found for function call {name}."));
    let unknown = tool_continuation(&previous(), &calls, &[output("c", "x")], None).unwrap_err();
    assert!(unknown.message.contains("call_id c"), "{unknown}");
}

#[test]
fn tools_and_format_are_settings_of_the_turn() {
    let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let request = parse(with(json!({
        "tools": [{"type": "function", "name": "look", "parameters": schema, "strict": true, "description": null}],
        "tool_choice": "required", "parallel_tool_calls": false, "max_output_tokens": 64,
        "reasoning": {"effort": "low", "summary": "concise"}, "metadata": {"a": "b"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": true}},
    })));
    let options = &request.options;
    assert_eq!((options.tools[0].name.as_str(), options.requires_tool), ("look", true));
    assert_eq!((options.max_output_tokens, options.parallel_tool_calls), (Some(64), Some(false)));
    assert_eq!(options.text_format.as_ref().unwrap().name, "n");
    assert_eq!(options.repeated["metadata"], json!({"a": "b"}));
    assert_eq!(options.repeated["tools"][0]["type"], "function");
    let none = parse(with(json!({"tools": [{"type": "function", "name": "f"}], "tool_choice": "none"})));
    assert!(none.options.tools.is_empty());
}

#[test]
fn any_number_of_tools_may_be_allowed_or_required() {
    let tools = json!([{"type": "function", "name": "a"}, {"type": "function", "name": "b", "defer_loading": true},
                       {"type": "web_search"}, {"type": "namespace", "name": "n", "description": "d", "tools": []}]);
    let of = |choice: Value| parse(with(json!({"tools": tools, "tool_choice": choice})));
    let required = of(json!("required"));
    assert_eq!((required.options.tools.len(), required.options.requires_tool), (2, true));
    assert_eq!(required.ignored.refusal().unwrap().param.as_deref(), Some("tools[2]"));
    let allowed = of(
        json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "b"}]}),
    );
    assert_eq!((allowed.options.tools[0].name.as_str(), allowed.options.requires_tool), ("b", true));
    let unknown =
        json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "c"}]});
    let refused = refused(with(json!({"tools": tools, "tool_choice": unknown})));
    assert_eq!(refused, ("tool_choice.tools[0].name".to_owned(), "invalid_value".to_owned()));
    let object = parse(with(json!({"text": {"format": {"type": "json_object"}}, "max_output_tokens": 1})));
    assert_eq!((object.options.json_object, object.options.max_output_tokens), (true, Some(1)));
}

#[test]
fn unsupported_members_are_refused_by_name() {
    for (members, param) in [
        (json!({"prompt": {"id": "pmpt_1"}}), "prompt"),
        (json!({"thread": {"type": "create"}}), "thread"),
        (json!({"previous_thread": "t"}), "previous_thread"),
        (json!({"tools": [{"type": "mcp", "server_label": "x"}]}), "tools[0].type"),
        (json!({"tool_choice": {"type": "web_search"}}), "tool_choice"),
        (json!({"top_logprobs": 3}), "top_logprobs"),
        (json!({"include": ["message.output_text.logprobs"]}), "include"),
        (json!({"stream_options": {"include_obfuscation": true}}), "stream_options.include_obfuscation"),
        (json!({"text": {"format": {"type": "grammar"}}}), "text.format.type"),
        (
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x.y/z.png"}]}]}),
            "input[0].content[0].image_url",
        ),
        (json!({"input": [{"type": "local_shell_call", "id": "l"}]}), "input[0].type"),
        (
            json!({"input": [{"role": "assistant", "content": [{"type": "audio"}]}]}),
            "input[0].content[0].type",
        ),
    ] {
        assert_eq!(refused(with(members)), (param.to_owned(), "unsupported_parameter".to_owned()));
    }
}

#[test]
fn invalid_members_are_refused_by_name() {
    for (body, param, code) in [
        (json!({"input": "Hi"}), "model", "missing_required_parameter"),
        (json!({"model": "m"}), "input", "missing_required_parameter"),
        (with(json!({"truncation": "left"})), "truncation", "invalid_value"),
        (with(json!({"stream": "yes"})), "stream", "invalid_value"),
        (with(json!({"store": false, "background": true})), "background", "invalid_value"),
        (with(json!({"store": false, "conversation": "conv_c"})), "store", "invalid_value"),
        (with(json!({"metadata": {"a": 1}})), "metadata", "invalid_value"),
        (
            with(json!({"tool_choice": {"type": "function", "name": "x"}})),
            "tool_choice.name",
            "invalid_value",
        ),
        (
            with(json!({"previous_response_id": "resp_1"})),
            "previous_response_id",
            "previous_response_not_found",
        ),
        (with(json!({"conversation": "other"})), "conversation", "not_found"),
        (with(json!({"input": []})), "input", "invalid_value"),
    ] {
        assert_eq!(refused(body), (param.to_owned(), code.to_owned()));
    }
    let blank = parse(with(json!({"input": " "})));
    let Input::Message(message) = &blank.input else { panic!("no message") };
    assert_eq!(blank.user_turn(&previous(), message).unwrap_err().status, 400);
}

#[test]
fn unknown_members_are_ignored_and_named() {
    let request = parse(with(json!({
        "colour": "red", "reasoning": {"summary": "auto", "depth": 3}, "seed": 1, "truncation": "disabled",
        "input": [{"role": "user", "content": "Hi", "cache_control": {"type": "ephemeral"}, "mood": "good"}],
    })));
    let refusal = request.ignored.refusal().unwrap();
    assert_eq!(refusal.param.as_deref(), Some("colour"));
    let named = request.ignored.warn(axum::response::Response::default());
    assert_eq!(named.headers()["x-aptix-ignored"], "colour, reasoning.depth, input[0].mood");
    assert_eq!(parse(with(json!({"seed": 1}))).ignored, Ignored::default());
}

#[test]
fn name_without_a_slash_may_be_an_agent() {
    let body =
        |model: &str| Body::parse(json!({"model": model, "input": "Hi"}).to_string().as_bytes()).unwrap();
    assert_eq!(body("engineer").ambiguous_model(), Some("engineer"));
    assert_eq!(body("agent/engineer").ambiguous_model(), None);
    let request = CreateResponse::parse(&body("engineer").with_agent()).unwrap();
    assert_eq!((request.agent.as_deref(), &request.options.model), (Some("engineer"), &None));
    assert_eq!(request.options.repeated["model"], "engineer", "the response shows the name as sent");
}

#[test]
fn null_counts_as_absent() {
    let request = parse(with(json!({"instructions": null, "tools": null, "colour": null, "store": null})));
    assert_eq!((request.parent, request.instructions.as_str()), (Parent::None, ""));
}
