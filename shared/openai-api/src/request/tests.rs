use contracts::{UserTurn, id::TurnId, response::ToolOutcome};

use super::*;
use crate::files::{FileId, Purpose};

fn parse(body: Value) -> CreateResponse {
    CreateResponse::parse(body.to_string().as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn refused(body: Value) -> (String, String) {
    let error = CreateResponse::parse(body.to_string().as_bytes()).expect_err("an invalid request");
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
    let expected = InputFile { name: "a.txt".to_owned(), content: Content::Uploaded(id.clone()) };
    assert_eq!(message.files, [expected]);
    assert!(request.user_turn(&previous(), message).is_err(), "its content wasn't read");
    let image = parse(with_part(json!({"type": "input_image", "file_id": id.to_string()})));
    let Input::Message(message) = &image.input else { panic!("no message") };
    assert_eq!(message.images, [Content::Uploaded(id.clone())]);
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

#[test]
fn items_of_earlier_responses_name_the_previous_one() {
    let (message, call) = (previous().message(0), previous().call(0));
    let request = parse(with(json!({"input": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "First"},
        {"id": message, "type": "message", "role": "assistant", "status": "completed", "content": []},
        {"role": "user", "content": "Second"},
    ]})));
    assert_eq!(request.parent, Parent::Response(previous()));
    assert_eq!(turn(&request).instruction.as_deref(), Some("Second"));
    assert_eq!(request.instructions, "Be kind.");
    assert_eq!(request.options.repeated["previous_response_id"], json!(previous().to_string()));
    let request = parse(with(json!({"input": [
        {"role": "user", "content": "First"},
        {"id": call, "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
    ]})));
    let outputs = vec![FunctionOutput { call_id: "c".to_owned(), output: "sunny".to_owned() }];
    assert_eq!((request.parent, request.input), (Parent::Response(previous()), Input::Outputs(outputs)));
}

#[test]
fn earlier_messages_without_ids_become_text() {
    let request = parse(with(json!({"input": [
        {"role": "user", "content": "My name is Alice."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello Alice!", "annotations": []}]},
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
        {"type": "message", "role": "assistant", "content": "Sunny."},
        {"role": "user", "content": "What is my name?"},
    ]})));
    assert_eq!(request.parent, Parent::None);
    assert_eq!(
        turn(&request).instruction.as_deref(),
        Some(
            "User: My name is Alice.\n\nAssistant: Hello Alice!\n\nUser: Weather?\n\nAssistant: f({})\n\n\
             Tool: sunny\n\nAssistant: Sunny.\n\nUser: What is my name?"
        )
    );
    let foreign = json!({"input": [
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
    ]});
    assert_eq!(refused(with(foreign)), ("input[1]".to_owned(), "unsupported_parameter".to_owned()));
    let reference =
        json!({"input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "Hi"}]});
    assert_eq!(refused(with(reference)), ("input[0].id".to_owned(), "invalid_value".to_owned()));
}

#[test]
fn outputs_follow_the_order_of_calls() {
    let call = |id: &str| contracts::response::ToolCall {
        tool_call_id: id.to_owned(),
        name: "f".to_owned(),
        arguments_json: "{}".to_owned(),
    };
    let output = |id: &str, text: &str| FunctionOutput { call_id: id.to_owned(), output: text.to_owned() };
    let calls = [call("a"), call("b")];
    let results =
        tool_continuation(&previous(), &calls, &[output("b", "{\"x\":1}"), output("a", "sunny")]).unwrap();
    let results: Vec<_> = results.tool_results.iter().map(|result| result.outcome.clone()).collect();
    let json = |text: &str| ToolOutcome::ResultJson(text.to_owned());
    assert_eq!(results, [json("\"sunny\""), json("{\"x\":1}")]);
    let missing = tool_continuation(&previous(), &calls, &[output("a", "x")]).unwrap_err();
    let name = previous().call(1);
    assert_eq!(missing.message, format!("No tool output found for function call {name}."));
    let unknown = tool_continuation(&previous(), &calls, &[output("c", "x")]).unwrap_err();
    assert!(unknown.message.contains("call_id c"), "{unknown}");
}

#[test]
fn tools_and_format_are_settings_of_the_turn() {
    let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let request = parse(with(json!({
        "tools": [{"type": "function", "name": "look", "parameters": schema, "strict": true, "description": null}],
        "tool_choice": "required", "parallel_tool_calls": false, "max_output_tokens": 64,
        "reasoning": {"effort": "low"}, "metadata": {"a": "b"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": true}},
    })));
    let options = &request.options;
    assert_eq!((options.tools[0].name.as_str(), options.tool_choice.as_deref()), ("look", Some("look")));
    assert_eq!((options.max_output_tokens, options.parallel_tool_calls), (Some(64), Some(false)));
    assert_eq!(options.text_format.as_ref().unwrap().name, "n");
    assert_eq!(options.repeated["metadata"], json!({"a": "b"}));
    assert_eq!(options.repeated["tools"][0]["type"], "function");
    let none = parse(with(json!({"tools": [{"type": "function", "name": "f"}], "tool_choice": "none"})));
    assert!(none.options.tools.is_empty());
}

#[test]
fn unsupported_members_are_refused_by_name() {
    for (members, param) in [
        (json!({"store": false}), "store"),
        (json!({"truncation": "disabled"}), "truncation"),
        (json!({"tools": [{"type": "web_search"}]}), "tools[0].type"),
        (json!({"top_logprobs": 3}), "top_logprobs"),
        (json!({"max_tool_calls": 3}), "max_tool_calls"),
        (json!({"reasoning": {"summary": "auto"}}), "reasoning.summary"),
        (json!({"include": ["message.output_text.logprobs"]}), "include"),
        (json!({"stream_options": {"include_obfuscation": true}}), "stream_options.include_obfuscation"),
        (json!({"text": {"format": {"type": "json_object"}}}), "text.format.type"),
        (
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x.y/z.png"}]}]}),
            "input[0].content[0].image_url",
        ),
        (json!({"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}), "input[0].type"),
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
        (with(json!({"colour": "red"})), "colour", "unknown_parameter"),
        (with(json!({"stream": "yes"})), "stream", "invalid_value"),
        (with(json!({"metadata": {"a": 1}})), "metadata", "invalid_value"),
        (with(json!({"tool_choice": {"type": "function", "name": "x"}})), "tool_choice", "invalid_value"),
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
fn null_counts_as_absent() {
    let request = parse(with(json!({"instructions": null, "tools": null, "colour": null, "store": null})));
    assert_eq!((request.parent, request.instructions.as_str()), (Parent::None, ""));
}
