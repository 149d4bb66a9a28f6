use contracts::request::{FunctionTool, JsonFormat};
use histories::{ChatCall, ChatContent, ChatMessage, ChatResult, InlineData, TurnRound, UserMessage};
use runtime::dialect::anthropic_type;
use serde_json::{Value, json};

use super::*;
use crate::error::ThreadErrorCode;

fn parse(request: &Value) -> Result<CreateMessage, ApiError> {
    CreateMessage::parse(request.to_string().as_bytes())
}

/// A request with more members, or other ones.
fn with(more: Value) -> Value {
    let mut request = json!({"model": "agent/default", "max_tokens": 1024, "messages": [
        {"role": "user", "content": "Hello"},
    ]});
    let (Value::Object(members), Value::Object(more)) = (&mut request, more) else { panic!("no objects") };
    members.extend(more);
    request
}

fn read(more: Value) -> CreateMessage {
    let request = with(more);
    parse(&request).unwrap_or_else(|error| panic!("{request}: {error}"))
}

fn messages(messages: Value) -> Vec<ChatMessage> {
    read(json!({"messages": messages})).chat.messages
}

fn refused(more: Value) -> String {
    let request = with(more);
    match parse(&request) {
        Ok(_) => panic!("accepted: {request}"),
        Err(error) => {
            assert_eq!(
                (error.status, anthropic_type(error.status)),
                (400, "invalid_request_error"),
                "{error}"
            );
            error.message
        }
    }
}

fn user(text: &str) -> ChatMessage {
    ChatMessage::User(UserMessage { text: text.to_owned(), ..UserMessage::default() })
}

fn result(call_id: &str, output: &str, is_error: bool) -> ChatMessage {
    ChatMessage::Result(ChatResult { call_id: call_id.to_owned(), output: output.to_owned(), is_error })
}

fn call(id: &str, arguments: &str) -> ChatMessage {
    let (id, name, arguments) = (id.to_owned(), "look".to_owned(), arguments.to_owned());
    ChatMessage::Call(ChatCall { id, name, arguments })
}

#[test]
fn message_is_text_or_blocks() {
    assert_eq!(messages(json!([{"role": "user", "content": "Hi"}])), [user("Hi")]);
    let blocks = json!([{"type": "text", "text": "Hi"}, {"type": "text", "text": "there", "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(messages(json!([{"role": "user", "content": blocks}])), [user("Hi\n\nthere")]);
    let two = json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]);
    assert_eq!(messages(two), [user("a"), user("b")]);
}

#[test]
fn history_is_read_role_by_role() {
    let read = messages(json!([
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "I look.", "citations": null},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}, "caller": {"type": "direct"}},
            {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen", "is_error": false},
            {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": [
                {"type": "text", "text": "dark"}, {"type": "text", "text": "here"},
            ]},
            {"type": "text", "text": "Go on", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ]},
    ]));
    assert_eq!(
        read,
        [
            user("Look"),
            ChatMessage::Assistant("I look.".to_owned()),
            call("toolu_1", r#"{"at":1}"#),
            call("toolu_2", "{}"),
            result("toolu_1", "seen", false),
            result("toolu_2", "dark\n\nhere", true),
            user("Go on"),
        ]
    );
}

#[test]
fn failed_result_without_text_has_a_message() {
    let blocks = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true}]);
    let read = messages(json!([{"role": "user", "content": blocks}]));
    assert!(matches!(&read[0], ChatMessage::Result(result) if !result.output.trim().is_empty()));
}

#[test]
fn image_of_a_result_follows_it() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWNv"}});
    let blocks = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": [image]}]);
    let read = messages(json!([{"role": "user", "content": blocks}]));
    let inline = InlineData { mime_type: "image/png".to_owned(), base64: "aWNv".to_owned() };
    let images = vec![ChatContent::Inline(inline)];
    assert_eq!(read[1], ChatMessage::User(UserMessage { images, ..UserMessage::default() }));
}

#[test]
fn documents_are_files_and_search_results_are_text() {
    let read = messages(json!([{"role": "user", "content": [
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
        {"type": "document", "title": "notes", "source": {"type": "text", "media_type": "text/plain", "data": "a"}},
        {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "inline"}]}},
        {"type": "search_result", "title": "T", "source": "https://a", "content": [{"type": "text", "text": "found"}]},
    ]}]));
    let [ChatMessage::User(user)] = read.as_slice() else { panic!("{read:?}") };
    let names: Vec<&str> = user.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["document.pdf", "notes.txt", "document.pdf"]);
    assert_eq!(user.files[2].content, ChatContent::Uploaded("file-1".to_owned()));
    assert_eq!(user.text, "inline\n\nT (https://a)\n\nfound");
}

#[test]
fn calls_that_a_service_ran_are_history() {
    let read = messages(json!([
        {"role": "user", "content": "Search"},
        {"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "look", "input": {"q": "a"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "https://a"}]},
            {"type": "text", "text": "Found."},
        ]},
        {"role": "user", "content": "Thanks"},
    ]));
    assert_eq!(read[1], call("srvtoolu_1", r#"{"q":"a"}"#));
    assert_eq!(read[2], result("srvtoolu_1", r#"[{"url":"https://a"}]"#, false));
}

#[test]
fn system_texts_before_the_first_message_are_instructions() {
    let request = read(json!({
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Be kind."}],
        "messages": [
            {"role": "system", "content": "Speak English."},
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": [{"type": "text", "text": "It is noon."}]},
        ],
    }));
    assert_eq!(request.chat.instructions, "Be brief.\n\nBe kind.\n\nSpeak English.");
    assert_eq!(request.chat.messages, [user("Hi"), ChatMessage::System("It is noon.".to_owned())]);
    assert_eq!(read(json!({"system": "Be brief."})).chat.instructions, "Be brief.");
}

#[test]
fn system_text_ends_with_the_next_user_message_if_it_says_so() {
    let reminder = json!({"role": "system", "content": "Now.", "clear_at": "next_user_message"});
    let last = messages(json!([{"role": "user", "content": "a"}, reminder]));
    assert_eq!(last, [user("a"), ChatMessage::System("Now.".to_owned())]);
    let earlier =
        messages(json!([{"role": "user", "content": "a"}, reminder, {"role": "user", "content": "b"}]));
    assert_eq!(earlier, [user("a"), user("b")]);
}

#[test]
fn tools_and_their_choice_are_read() {
    let tool = |name: &str| {
        json!({"name": name, "description": "Looks.", "input_schema": {"type": "object", "properties": {}},
        "cache_control": {"type": "ephemeral"}, "defer_loading": true, "eager_input_streaming": true})
    };
    let request = read(
        json!({"tools": [tool("look"), tool("see")], "tool_choice": {"type": "tool", "name": "see", "disable_parallel_tool_use": true}}),
    );
    let options = &request.chat.options;
    let parameters = json!({"type": "object", "properties": {}});
    let (name, description) = ("look".to_owned(), "Looks.".to_owned());
    assert_eq!(options.tools[0], FunctionTool { name, description, parameters, strict: false, format: None });
    assert_eq!((options.tool_choice.as_deref(), options.parallel_tool_calls), (Some("see"), Some(false)));
    let none = read(json!({"tools": [tool("look")], "tool_choice": {"type": "none"}}));
    assert!(none.chat.options.tools.is_empty());
    let any = read(json!({"tools": [tool("look")], "tool_choice": {"type": "any"}}));
    assert!(any.chat.options.requires_tool);
    let missing = refused(json!({"tools": [tool("look")], "tool_choice": {"type": "tool", "name": "x"}}));
    assert_eq!(missing, "tool_choice: Tool 'x' not found in provided tools");
    assert!(
        refused(json!({"tools": [{"type": "bash_20250124", "name": "bash"}]})).starts_with("tools.0.type: ")
    );
}

#[test]
fn settings_are_mapped() {
    let request = read(json!({
        "temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop_sequences": ["END"], "stream": true,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {
            "type": "object", "properties": {}, "required": [], "additionalProperties": false}}},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "metadata": {"user_id": "u-1"}, "cache_control": {"type": "ephemeral"}, "service_tier": "auto",
        "mcp_servers": [],
    }));
    let options = &request.chat.options;
    assert_eq!(options.max_output_tokens, Some(1024));
    assert_eq!(options.reasoning_effort.as_deref(), Some("high"));
    assert!(matches!(&options.text_format, Some(JsonFormat { strict: true, .. })));
    assert_eq!(options.repeated, json!({"model": "agent/default", "user": "u-1"}));
    assert_eq!((request.stops, request.chat.is_streamed), (vec!["END".to_owned()], true));
    assert_eq!((request.chat.agent.as_deref(), options.model.as_deref()), (Some("default"), None));
    let model = read(json!({"model": "gpt-x"}));
    assert_eq!((model.chat.agent, model.chat.options.model.as_deref()), (None, Some("gpt-x")));
}

#[test]
fn thinking_of_every_kind_is_accepted() {
    for thinking in [
        json!({"type": "disabled"}),
        json!({"type": "between_tools"}),
        json!({"type": "adaptive"}),
        json!({"type": "enabled", "budget_tokens": 2048, "display": "summarized"}),
    ] {
        read(json!({"thinking": thinking}));
    }
    assert_eq!(refused(json!({"thinking": {"type": "enabled"}})), "thinking.budget_tokens: Field required");
}

#[test]
fn members_that_carry_state_or_a_promise_are_refused() {
    for (name, value) in [
        ("container", json!("c-1")),
        ("compaction", json!({"type": "summarize"})),
        ("fallbacks", json!([{"model": "x"}])),
        ("inference_geo", json!("eu")),
        ("mcp_servers", json!([{"type": "url", "url": "https://a", "name": "a"}])),
        ("context_management", json!({"edits": [{"type": "compact_20260112"}]})),
        ("unheard_of", json!(1)),
    ] {
        assert_eq!(refused(json!({name: value})), format!("{name}: Extra inputs are not permitted"));
    }
    let budget = json!({"task_budget": {"type": "tokens", "total": 1}});
    assert_eq!(
        refused(json!({"output_config": budget})),
        "output_config.task_budget: Extra inputs are not permitted"
    );
}

#[test]
fn invalid_members_are_named_by_their_path() {
    let message = |message: Value| json!({"messages": [message]});
    for (more, expected) in [
        (json!({"max_tokens": null}), "max_tokens: Field required"),
        (json!({"max_tokens": "many"}), "max_tokens: Input should be a valid integer, 0 or more"),
        (json!({"messages": null}), "messages: Field required"),
        (json!({"messages": {}}), "messages: Input should be a valid array"),
        (json!({"stop_sequences": [" "]}), "stop_sequences: each stop sequence must contain non-whitespace"),
        (
            message(json!({"role": "tool", "content": "a"})),
            "messages.0.role: Input should be 'user', 'assistant' or 'system'",
        ),
        (message(json!({"role": "user"})), "messages.0.content: Field required"),
        (
            message(json!({"role": "user", "content": [{"type": "text"}]})),
            "messages.0.content.0.text: Field required",
        ),
        (
            message(json!({"role": "user", "content": [{"type": "video"}]})),
            "messages.0.content.0.type: blocks of type 'video' are not supported",
        ),
        (
            message(
                json!({"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://a"}}]}),
            ),
            "messages.0.content.0.source.type: Input should be 'base64' or 'file'; send the image itself",
        ),
    ] {
        assert_eq!(refused(more), expected);
    }
    let error = CreateMessage::parse(b"{").unwrap_err();
    assert_eq!(error.message, "The request body is not valid JSON (line 1, column 1)");
}

#[test]
fn calls_of_this_service_name_their_turn() {
    let turn = TurnRound {
        session: contracts::id::SessionId::new("s").unwrap(),
        turn: contracts::id::TurnId::new("t").unwrap(),
        round: 1,
    };
    let request = read(json!({"messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": crate::id::call(&turn, 0), "name": "look", "input": {}}]},
        {"role": "user", "content": "x"},
    ]}));
    assert_eq!(request.chat.hints, [Hint { message: 0, turn, is_certain: false }]);
}

#[test]
fn thread_is_created_or_continued() {
    let turn = TurnRound {
        session: contracts::id::SessionId::new("s").unwrap(),
        turn: contracts::id::TurnId::new("t").unwrap(),
        round: 0,
    };
    let id = crate::id::message(&turn);
    assert_eq!(read(json!({"thread": {"type": "create"}})).thread, Some(Thread::Create));
    let thread = json!({"type": "continue", "previous_message_id": id});
    assert_eq!(read(json!({"thread": thread})).thread, Some(Thread::Continue(turn)));
    let code = |more: Value| parse(&with(more)).unwrap_err().code;
    let unknown = json!({"thread": {"type": "continue", "previous_message_id": "msg_01"}});
    assert_eq!(code(unknown), Some(ThreadErrorCode::NotFound));
    assert_eq!(code(json!({"thread": thread, "system": "x"})), Some(ThreadErrorCode::FingerprintMismatch));
    let choice = json!({"thread": thread, "tool_choice": {"type": "any"}});
    assert_eq!(code(choice), Some(ThreadErrorCode::UnsupportedRequest));
}

#[test]
fn tokens_are_counted_without_max_tokens() {
    let mut request = with(json!({"system": "x".repeat(400)}));
    request.as_object_mut().unwrap().remove("max_tokens");
    let chat = CreateMessage::parse_count(request.to_string().as_bytes()).unwrap();
    let tokens = crate::tokens::count(&chat, 0)["input_tokens"].as_u64().unwrap();
    assert!((100..120).contains(&tokens), "{tokens}");
}
