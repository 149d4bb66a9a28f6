//! The table of providers, as their sources, documentation and bug reports had it in November 2026.

use super::profile::{Chain, Echo, ErrorTemplate, Feature, Framing, Key, Profile};
use crate::refusal::Layout;

const INVALID: &str = "invalid_request_error";

/// The published API's own words; a row says what is different.
const PUBLISHED: ErrorTemplate = ErrorTemplate {
    status: 400,
    layout: Layout::Nested,
    code: None,
    kind: INVALID,
    param: None,
    message: "",
};

const LOST: ErrorTemplate = ErrorTemplate {
    code: Some("previous_response_not_found"),
    param: Some("previous_response_id"),
    message: "Previous response with id '{id}' not found.",
    ..PUBLISHED
};

const OVERFLOW: ErrorTemplate = ErrorTemplate {
    code: Some("context_length_exceeded"),
    param: Some("input"),
    message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ..PUBLISHED
};

const UNKNOWN_MODEL: ErrorTemplate = ErrorTemplate {
    status: 404,
    code: Some("model_not_found"),
    message: "The model '{model}' does not exist or you do not have access to it.",
    ..PUBLISHED
};

const NO_RETENTION: ErrorTemplate = ErrorTemplate {
    code: Some("unsupported_parameter"),
    param: Some("previous_response_id"),
    message: "Previous response cannot be used for this organization due to Zero Data Retention.",
    ..PUBLISHED
};

const OPENROUTER: ErrorTemplate =
    ErrorTemplate { layout: Layout::Coded, code: Some("invalid_prompt"), kind: "", ..PUBLISHED };
const VLLM: ErrorTemplate = ErrorTemplate { layout: Layout::Flat, ..PUBLISHED };
const OLLAMA: ErrorTemplate = PUBLISHED;
const LLAMA: ErrorTemplate = ErrorTemplate { layout: Layout::Numbered, ..PUBLISHED };

const PLAIN: Framing = Framing { comment: None, done: false, placed: true };

pub(super) static PROFILES: [Profile; 8] = [
    Profile {
        name: "openai",
        key: Key::Bearer,
        chain: Chain::Supported(LOST),
        echo: Echo::AsRequested,
        errors: Layout::Nested,
        overflow: Some(OVERFLOW),
        unknown_model: UNKNOWN_MODEL,
        refuses: &[],
        ignores: &[],
        checks_calls: true,
        framing: PLAIN,
    },
    // OpenAI for an organization whose data is not retained: `store` counts as false.
    Profile {
        name: "openai-zdr",
        key: Key::Bearer,
        chain: Chain::Refused(NO_RETENTION),
        echo: Echo::NeverStored,
        errors: Layout::Nested,
        overflow: Some(OVERFLOW),
        unknown_model: UNKNOWN_MODEL,
        refuses: &[],
        ignores: &[],
        checks_calls: true,
        framing: PLAIN,
    },
    Profile {
        name: "azure",
        key: Key::Header("api-key"),
        chain: Chain::Supported(LOST),
        echo: Echo::AsRequested,
        errors: Layout::Nested,
        overflow: Some(OVERFLOW),
        unknown_model: ErrorTemplate {
            status: 404,
            code: Some("DeploymentNotFound"),
            kind: "",
            message: "The API deployment for this resource does not exist.",
            ..PUBLISHED
        },
        refuses: &[],
        ignores: &[],
        checks_calls: true,
        framing: PLAIN,
    },
    Profile {
        name: "openrouter",
        key: Key::Bearer,
        chain: Chain::Refused(ErrorTemplate {
            message: "previous_response_id is not supported. The Responses API is stateless.",
            ..OPENROUTER
        }),
        echo: Echo::Stateless,
        errors: Layout::Coded,
        overflow: Some(ErrorTemplate {
            message: "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 \
                      tokens (9000 of text input). Please reduce the length of either one.",
            ..OPENROUTER
        }),
        unknown_model: ErrorTemplate { message: "{model} is not a valid model ID", ..OPENROUTER },
        refuses: &[(
            Feature::Store,
            ErrorTemplate {
                message: "store is not supported. The Responses API is stateless.",
                ..OPENROUTER
            },
        )],
        ignores: &[],
        checks_calls: true,
        framing: Framing { comment: Some(": OPENROUTER PROCESSING\n\n"), done: true, placed: true },
    },
    // Without VLLM_ENABLE_RESPONSES_API_STORE, which leaks memory and is off by default.
    Profile {
        name: "vllm",
        key: Key::NotRequired,
        chain: Chain::Refused(ErrorTemplate {
            status: 404,
            param: Some("response_id"),
            message: "Response with id '{id}' not found.",
            ..VLLM
        }),
        echo: Echo::Silent,
        errors: Layout::Flat,
        overflow: Some(ErrorTemplate {
            message: "The engine prompt length 9000 exceeds the max_model_len 8192. Please reduce prompt.",
            ..VLLM
        }),
        unknown_model: ErrorTemplate {
            status: 404,
            kind: "NotFoundError",
            param: Some("model"),
            message: "The model `{model}` does not exist.",
            ..VLLM
        },
        refuses: &[],
        ignores: &[],
        checks_calls: false,
        framing: Framing { done: true, ..PLAIN },
    },
    Profile {
        name: "ollama",
        key: Key::NotRequired,
        chain: Chain::Ignored,
        echo: Echo::Stateless,
        errors: Layout::Nested,
        overflow: None,
        unknown_model: ErrorTemplate {
            status: 404,
            kind: "not_found_error",
            message: "model '{model}' not found",
            ..OLLAMA
        },
        refuses: &[
            (
                Feature::Effort("minimal"),
                ErrorTemplate {
                    message: "invalid reasoning value: 'minimal' (must be \"high\", \"medium\", \"low\", or \"none\")",
                    ..OLLAMA
                },
            ),
            (
                Feature::Effort("xhigh"),
                ErrorTemplate {
                    message: "invalid reasoning value: 'xhigh' (must be \"high\", \"medium\", \"low\", or \"none\")",
                    ..OLLAMA
                },
            ),
            (
                Feature::Part("input_file"),
                ErrorTemplate { message: "unknown content type: input_file", ..OLLAMA },
            ),
        ],
        ignores: &["previous_response_id", "store", "tool_choice"],
        checks_calls: false,
        framing: PLAIN,
    },
    Profile {
        name: "lmstudio",
        key: Key::NotRequired,
        chain: Chain::Supported(LOST),
        echo: Echo::AsRequested,
        errors: Layout::Nested,
        overflow: Some(ErrorTemplate {
            layout: Layout::Text,
            message: "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded \
                      with context length of only 8192 tokens, which is not enough. Try to load the model with a \
                      larger context length, or provide a shorter input.",
            ..PUBLISHED
        }),
        unknown_model: ErrorTemplate {
            status: 404,
            code: Some("model_not_found"),
            message: "Model \"{model}\" not found.",
            ..PUBLISHED
        },
        refuses: &[],
        ignores: &[],
        checks_calls: true,
        framing: PLAIN,
    },
    Profile {
        name: "llamacpp",
        key: Key::NotRequired,
        chain: Chain::Refused(ErrorTemplate {
            message: "llama.cpp does not support 'previous_response_id'.",
            ..LLAMA
        }),
        echo: Echo::Silent,
        errors: Layout::Numbered,
        overflow: Some(ErrorTemplate {
            kind: "exceed_context_size_error",
            message: "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            ..LLAMA
        }),
        unknown_model: ErrorTemplate {
            status: 404,
            kind: "not_found_error",
            message: "model '{model}' not found",
            ..LLAMA
        },
        refuses: &[(
            Feature::Part("input_file"),
            ErrorTemplate { message: "'input_file' is not supported by llamacpp at this moment", ..LLAMA },
        )],
        ignores: &[],
        checks_calls: false,
        framing: Framing { placed: false, ..PLAIN },
    },
];
