use serde_json::{Value, json};

use super::*;

/// Classifies an error body.
fn classify_body(status: u16, chained: bool, body: &str) -> Error {
    let error = &ErrorObject::from_body(body.as_bytes());
    classify_response(FailedResponse { status, error, retry_after: None, chained })
}

fn classify(status: u16, error: Value) -> Error {
    classify_body(status, false, &json!({ "error": error }).to_string())
}

#[test]
fn status_alone_maps_to_an_error() {
    for (status, expected) in [
        (400, Error::Rejected { status: 400 }),
        (401, Error::Unauthenticated),
        (402, Error::QuotaExceeded),
        (403, Error::Unauthenticated),
        (404, Error::Rejected { status: 404 }),
        (408, Error::UNAVAILABLE),
        (409, Error::UNAVAILABLE),
        (413, Error::ContextTooLong),
        (422, Error::Rejected { status: 422 }),
        (429, Error::RateLimited { retry_after: None }),
        (500, Error::UNAVAILABLE),
        (503, Error::UNAVAILABLE),
        (529, Error::UNAVAILABLE),
    ] {
        for body in ["", "<html>", "{}", "[]", r#"{"error":"words"}"#, r#"{"error":{}}"#, r#"{"error":[1]}"#]
        {
            assert_eq!(classify_body(status, false, body), expected, "{status} {body}");
        }
    }
}

#[test]
fn code_takes_precedence_over_the_status() {
    let code =
        |status, code: &str| classify(status, json!({ "code": code, "type": "invalid_request_error" }));
    for (status, name, expected) in [
        (429, "insufficient_quota", Error::QuotaExceeded),
        (400, "context_length_exceeded", Error::ContextTooLong),
        (400, "content_filter", Error::ContentFiltered),
        (400, "bio_policy", Error::ContentFiltered),
        (400, "image_content_policy_violation", Error::ContentFiltered),
        (400, "invalid_image_format", Error::AttachmentRefused),
        (400, "image_too_large", Error::AttachmentRefused),
        (404, "model_not_found", Error::ModelNotFound),
        (404, "DeploymentNotFound", Error::ModelNotFound),
        (400, "invalid_value", Error::Rejected { status: 400 }),
        (400, "invalid_prompt", Error::Rejected { status: 400 }),
    ] {
        assert_eq!(code(status, name), expected, "{name}");
    }
}

#[test]
fn context_overflow_is_recognized_in_every_wording() {
    for body in [
        // OpenAI.
        r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
        // vLLM, at the door, behind it, and by its engine.
        r#"{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","type":"BadRequestError","param":null,"code":400}"#,
        r#"{"error":{"message":"The engine prompt length 9000 exceeds the max_model_len 8192. Please reduce prompt.","type":"invalid_request_error","param":"input","code":400}}"#,
        r#"{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","code":400}"#,
        // llama.cpp.
        r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
        // Gemini, as it is and behind its compatible API, which answers with a list.
        r#"{"error":{"code":400,"message":"The input token count (1300000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}"#,
        r#"[{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}]"#,
        // Anthropic.
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        // OpenRouter, by itself and for the provider behind it.
        r#"{"error":{"code":"invalid_prompt","message":"This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens."},"metadata":null}"#,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"message\":\"prompt is too long: 9000 tokens > 8192 maximum\"}}","provider_name":"Anthropic"}}}"#,
        // LM Studio.
        r#"{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens, which is not enough."}"#,
        // xAI, Mistral, Groq, Bedrock.
        r#"{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
        r#"{"message":"Prompt contains 9000 tokens, too large for model with 8192 maximum context length","type":"invalid_request_error"}"#,
        r#"{"error":{"message":"Please reduce the length of the messages or completion."}}"#,
        r#"{"message":"Input is too long for requested model."}"#,
    ] {
        for chained in [false, true] {
            assert_eq!(classify_body(400, chained, body), Error::ContextTooLong, "{body}");
        }
    }
    // A limit of tokens by the minute is no limit of the context.
    let limited = r#"{"error":{"message":"Limit 30000 tokens. Please reduce the length of the messages.","code":"rate_limit_exceeded"}}"#;
    assert_eq!(classify_body(429, false, limited), Error::RateLimited { retry_after: None });
    assert_eq!(
        classify_body(429, false, r#"{"error":"maximum context length"}"#),
        Error::RateLimited { retry_after: None }
    );
}

#[test]
fn every_rejection_of_a_chain_is_chain_lost() {
    for (status, body) in [
        (400, r#"{"error":{"code":"previous_response_not_found","param":"previous_response_id"}}"#),
        (404, r#"{"error":{"code":"previous_response_not_found"}}"#),
        (
            400,
            r#"{"error":{"code":"unsupported_parameter","param":"previous_response_id","message":"Previous response cannot be used for this organization due to Zero Data Retention."}}"#,
        ),
        (
            404,
            r#"{"object":"error","message":"Response with id 'resp_1' not found.","type":"invalid_request_error","param":"response_id","code":404}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"llama.cpp does not support 'previous_response_id'.","type":"invalid_request_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":"invalid_prompt","message":"Invalid Responses API request"},"metadata":null}"#,
        ),
        (
            404,
            r#"{"code":"not-found","error":"Previous response cannot be used for this organization due to Zero Data Retention"}"#,
        ),
        (422, r#"{"detail":[{"loc":["body","previous_response_id"],"msg":"extra fields not permitted"}]}"#),
        (501, r#"{"error":{"message":"previous_response_id is not implemented"}}"#),
        (400, ""),
    ] {
        assert_eq!(classify_body(status, true, body), Error::ChainLost, "{body}");
        let alone = classify_body(status, false, body);
        assert!(matches!(alone, Error::Rejected { .. }), "{body}: {alone}");
    }
    for (status, body, expected) in [
        (401, "", Error::Unauthenticated),
        (403, "", Error::Unauthenticated),
        (402, "", Error::QuotaExceeded),
        (429, "", Error::RateLimited { retry_after: None }),
        (500, "", Error::UNAVAILABLE),
        (404, r#"{"error":{"code":"model_not_found"}}"#, Error::ModelNotFound),
        (400, r#"{"error":{"code":"content_filter"}}"#, Error::ContentFiltered),
    ] {
        assert_eq!(classify_body(status, true, body), expected, "{status} {body}");
    }
}

#[test]
fn rejected_parameter_is_no_lost_chain() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":null}}"#,
        ),
        (400, r#"{"error":{"code":"invalid_function_parameters","param":"tools[3].parameters"}}"#),
        (400, r#"{"error":{"code":"unsupported_value","param":"reasoning.effort"}}"#),
        (422, r#"{"detail":"`max_output_tokens` must be at least 16"}"#),
        (400, r#"{"error":{"message":"Invalid value for \"text.format\".","code":400}}"#),
    ] {
        for chained in [false, true] {
            assert_eq!(classify_body(status, chained, body), Error::ParameterRejected { status }, "{body}");
        }
    }
    for body in [
        r#"{"error":{"code":"invalid_value","param":"input[3].call_id"}}"#,
        r#"{"error":{"code":"unsupported_parameter","param":"store"}}"#,
        r#"{"error":{"code":"unsupported_value","param":"include[0]"}}"#,
        r#"{"error":{"message":"It isn't a 'sensible' request.","param":"The body"}}"#,
    ] {
        assert_eq!(classify_body(400, true, body), Error::ChainLost, "{body}");
        assert_eq!(classify_body(400, false, body), Error::Rejected { status: 400 }, "{body}");
    }
}

#[test]
fn moderation_is_distinguished_from_auth_and_bad_requests() {
    for (status, body) in [
        (
            403,
            r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"…","provider_name":"p"}}}"#,
        ),
        (403, r#"{"error":{"code":403,"message":"…","metadata":{"reasons":[],"flagged_input":"…"}}}"#),
        (
            400,
            r#"{"error":{"code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy."}}"#,
        ),
        (
            400,
            r#"{"error":{"code":null,"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","param":"prompt"}}"#,
        ),
    ] {
        assert_eq!(classify_body(status, false, body), Error::ContentFiltered, "{body}");
    }
    let forbidden = r#"{"error":{"code":403,"message":"The key has no access to this project."}}"#;
    assert_eq!(classify_body(403, false, forbidden), Error::Unauthenticated);
}

#[test]
fn unknown_model_is_recognized_in_every_wording() {
    for (status, body) in [
        (
            404,
            r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError","param":"model","code":404}"#,
        ),
        (
            404,
            r#"{"error":{"message":"model 'm' not found","type":"not_found_error","param":null,"code":null}}"#,
        ),
        (404, r#"{"error":{"message":"…","param":"model"}}"#),
        (400, r#"{"error":{"code":400,"message":"m is not a valid model ID"}}"#),
        (
            404,
            r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
        ),
    ] {
        for chained in [false, true] {
            assert_eq!(classify_body(status, chained, body), Error::ModelNotFound, "{body}");
        }
    }
}

#[test]
fn invalid_attachment_is_attachment_refused() {
    for body in [
        r#"{"error":{"code":"invalid_image_url","message":"…"}}"#,
        r#"{"error":{"code":"invalid_value","param":"input[0].content[1].image_url"}}"#,
        r#"{"error":{"code":400,"message":"'input_file' is not supported by llamacpp at this moment"}}"#,
    ] {
        assert_eq!(classify_body(400, true, body), Error::AttachmentRefused, "{body}");
    }
}

#[test]
fn failed_response_codes_map_to_errors() {
    let failed = |code: &str| {
        let error = ErrorObject::from_value(&json!({ "code": code, "message": "Words." }));
        classify_failed(Some(&error))
    };
    for (codes, expected) in [
        (["server_error", "vector_store_timeout", "a_new_code"].as_slice(), Error::UNAVAILABLE),
        (&["rate_limit_exceeded", "429"], Error::RateLimited { retry_after: None }),
        (&["invalid_prompt", "data_residency_mismatch"], Error::Rejected { status: 400 }),
        (
            &["bio_policy", "misalignment_policy_violation", "image_content_policy_violation"],
            Error::ContentFiltered,
        ),
        (
            &[
                "invalid_image",
                "invalid_image_format",
                "invalid_base64_image",
                "invalid_image_url",
                "image_too_large",
                "image_too_small",
                "image_parse_error",
                "invalid_image_mode",
                "image_file_too_large",
                "unsupported_image_media_type",
                "empty_image_file",
                "failed_to_download_image",
                "image_file_not_found",
            ],
            Error::AttachmentRefused,
        ),
    ] {
        for code in codes {
            assert_eq!(failed(code), expected, "{code}");
        }
    }
    assert_eq!(classify_failed(None), Error::UNAVAILABLE);
}

#[test]
fn retry_after_is_preserved() {
    let retry_after = Some(Duration::from_secs(7));
    let error = &ErrorObject::default();
    for status in [429, 500, 503, 529] {
        let refused = classify_response(FailedResponse { status, error, retry_after, chained: false });
        assert_eq!(refused.retry_after(), retry_after, "{status}");
    }
}

#[test]
fn provider_text_never_leaks() {
    let secret = "sk-secret and the whole prompt";
    for status in [400, 401, 404, 429, 500] {
        let error =
            classify(status, json!({ "code": secret, "type": secret, "param": secret, "message": secret }));
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}

#[test]
fn errors_of_other_wires_are_recognized() {
    let typed = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
        )
    };
    let invalid = |message: &str| typed("invalid_request_error", message);
    for (status, body, expected) in [
        // Anthropic.
        (404, typed("not_found_error", "model: claude-9"), Error::ModelNotFound),
        (404, typed("not_found_error", "Not found"), Error::Rejected { status: 404 }),
        (529, typed("overloaded_error", "Overloaded"), Error::UNAVAILABLE),
        (413, typed("request_too_large", "Request exceeds the maximum size"), Error::ContextTooLong),
        (402, typed("billing_error", "Billing"), Error::QuotaExceeded),
        (400, invalid("Your credit balance is too low to access the API."), Error::QuotaExceeded),
        (
            400,
            invalid("input length and `max_tokens` exceed context limit: 9 + 9 > 10"),
            Error::ContextTooLong,
        ),
        (400, invalid("messages.0.content.1: image exceeds 5 MB maximum"), Error::AttachmentRefused),
        (400, invalid("The PDF specified was not valid."), Error::AttachmentRefused),
        (400, invalid("max_tokens: Field required"), Error::Rejected { status: 400 }),
        (
            400,
            invalid("`temperature` may only be set to 1 when thinking is enabled."),
            Error::ParameterRejected { status: 400 },
        ),
        (
            400,
            invalid("messages.1.content.0: Invalid `signature` in `thinking` block"),
            Error::Rejected { status: 400 },
        ),
        // Google.
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#.to_owned(),
            Error::Unauthenticated,
        ),
        // Servers of the Chat Completions API without files.
        (400, invalid("messages[1]: unknown variant `file`, expected `text`"), Error::AttachmentRefused),
        (400, invalid("messages.0: content type 'file' is not supported"), Error::AttachmentRefused),
    ] {
        assert_eq!(classify_body(status, false, &body), expected, "{body}");
    }
}

#[test]
fn text_above_the_length_is_an_overflow_of_the_conversation_alone() {
    let long = |param: Value| classify(400, json!({ "code": "string_above_max_length", "param": param }));
    for param in [
        "input",
        "instructions",
        "input[0].content",
        "input[3].content[1].text",
        "input.3.content.1.text",
        "input[4].output",
        "messages[2].content",
        "messages.[2].content",
    ] {
        assert_eq!(long(json!(param)), Error::ContextTooLong, "{param}");
    }
    for param in ["tools[0].name", "safety_identifier", "text.format.name", "metadata.user_id"] {
        assert_eq!(long(json!(param)), Error::ParameterRejected { status: 400 }, "{param}");
    }
    for param in
        [json!("input[3].call_id"), json!("input[3].id"), json!("messages[1].name"), json!(null), json!("")]
    {
        assert_eq!(long(param.clone()), Error::Rejected { status: 400 }, "{param}");
    }
    assert_eq!(long(json!("input[0].content[1].image_url")), Error::AttachmentRefused);
}
