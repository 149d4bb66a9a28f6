//! Behaviour of each provider profile.

use axum::http::StatusCode;
use mock_model::Provider;
use serde_json::{Value, json};

use crate::{Server, asking, json_of, text_of};

/// Returns the answer to the second turn of a chain, and the storage members of the first.
async fn second_turn(provider: Provider) -> (u16, Value, Value) {
    let server = Server::playing(provider);
    let first = server.reply(&asking("First.")).await;
    let mut second = asking("Second.");
    second["previous_response_id"] = first["id"].clone();
    let answer = server.send(&second).await;
    (answer.status().as_u16(), json_of(answer).await, first)
}

#[tokio::test]
async fn chained_requests_follow_each_provider_profile() {
    let expected = [
        ("openai", 200, json!(true)),
        ("openai-zdr", 400, json!(false)),
        ("azure", 200, json!(true)),
        ("openrouter", 400, json!(false)),
        ("vllm", 404, Value::Null),
        ("ollama", 200, json!(false)),
        ("lmstudio", 200, json!(true)),
        ("llamacpp", 400, Value::Null),
    ];
    let names: Vec<&str> = Provider::all().map(Provider::name).collect();
    assert_eq!(names, expected.clone().map(|(name, ..)| name));
    for (name, status, stored) in expected {
        let (answered, body, first) = second_turn(name.parse().unwrap()).await;
        assert_eq!((answered, &first["store"]), (status, &stored), "{name}: {body}");
        let went_on =
            body["output"].is_array() && text_of(&body).contains("One turn of this chain came before");
        assert_eq!(went_on, stored == json!(true), "{name}: {body}");
    }
}

#[tokio::test]
async fn refusals_have_the_text_and_layout_of_the_provider() {
    let body = async |name: &str| second_turn(name.parse().unwrap()).await.1;
    let vllm = body("vllm").await;
    assert_eq!(
        (&vllm["object"], &vllm["param"], &vllm["code"]),
        (&json!("error"), &json!("response_id"), &json!(404))
    );
    let llamacpp = body("llamacpp").await;
    assert_eq!(llamacpp["error"]["message"], "llama.cpp does not support 'previous_response_id'.");
    assert_eq!((&llamacpp["error"]["code"], llamacpp["error"].get("param")), (&json!(400), None));
    assert_eq!(body("openrouter").await["error"]["code"], "invalid_prompt");
    let zero_retention = body("openai-zdr").await;
    assert_eq!(zero_retention["error"]["param"], "previous_response_id");

    let missing = |name: &str| {
        let server = Server::playing(name.parse().unwrap());
        async move { json_of(server.send(&json!({ "model": "missing-1", "input": "Hello." })).await).await }
    };
    assert_eq!(missing("azure").await["error"]["code"], "DeploymentNotFound");
    assert_eq!(missing("vllm").await["message"], "The model `missing-1` does not exist.");
}

#[tokio::test]
async fn oversized_input_is_refused_or_truncated_as_the_provider_does() {
    for provider in Provider::all() {
        let server = Server::playing(provider);
        let long = asking(
            "[[script: overflow over 40; say \"ok\"]]\nwords words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words words",
        );
        let answer = server.send(&long).await;
        let silent = provider.name() == "ollama";
        assert_eq!(answer.status() == StatusCode::OK, silent, "{provider}");
        let error = json_of(answer).await;
        let is_text = error["error"].is_string();
        assert_eq!(is_text, provider.name() == "lmstudio", "{provider}: {error}");
        let short = server.reply(&asking("[[script: overflow over 40; say \"ok\"]]")).await;
        assert_eq!(text_of(&short), "ok", "{provider}");
    }
}

#[tokio::test]
async fn parameters_are_ignored_or_refused_as_the_provider_does() {
    let ollama = Server::playing("ollama".parse().unwrap());
    let mut forced = asking("Hello.");
    forced["tools"] = json!([{ "type": "function", "name": "look", "strict": false,
        "parameters": { "type": "object", "properties": {} } }]);
    forced["tool_choice"] = json!({ "type": "function", "name": "look" });
    assert_eq!(ollama.reply(&forced).await["output"][0]["type"], "message");
    let mut trying = asking("Hello.");
    trying["reasoning"] = json!({ "effort": "minimal" });
    assert_eq!(ollama.send(&trying).await.status(), 400);

    let llamacpp = Server::playing("llamacpp".parse().unwrap());
    let file = json!([{ "role": "user", "content": [
        { "type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA==" },
    ]}]);
    assert_eq!(llamacpp.send(&json!({ "model": "m", "input": file })).await.status(), 400);
    let events = llamacpp.events(asking("Hello.")).await;
    assert!(events.iter().all(|event| event.get("sequence_number").is_none()), "{events:?}");

    let openrouter = Server::playing("openrouter".parse().unwrap());
    let mut stored = asking("Hello.");
    stored["store"] = json!(true);
    assert_eq!(openrouter.send(&stored).await.status(), 400);
}

#[test]
fn unknown_provider_is_refused_with_the_known_ones() {
    let refused = "openia".parse::<Provider>().unwrap_err().to_string();
    assert!(refused.contains("openai") && refused.contains("llamacpp"), "{refused}");
}
