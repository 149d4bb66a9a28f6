//! Classifies errors by message, for providers without error codes. A message is compared with phrases and goes nowhere
//! else (I14).

use agent::model::Error;

/// Phrases of error messages in lower case, and the error of each. The first match wins. docs/guides/providers.md lists
/// their providers.
const PHRASES: [(&[&str], Error); 7] = [
    (
        &[
            "previous_response_id",
            "previous response",
            "response with id",
            "not persisted for zero data retention",
        ],
        Error::ChainLost,
    ),
    (
        &[
            "maximum context length",
            "context window",
            "context length",
            "context size",
            "context the overflows",
            "context overflow",
            "max_model_len",
            "maximum model length",
            "maximum prompt length",
            "maximum number of tokens allowed",
            "prompt is too long",
            "prompt too long",
            "input is too long",
            "reduce the length",
            "reduce the prompt",
            "prompt token count",
            "exceed context limit",
        ],
        Error::ContextTooLong,
    ),
    (
        &[
            "content management policy",
            "content policy",
            "content filter",
            "usage policy",
            "usage policies",
            "safety reasons",
            "safety system",
            "moderation",
            "flagged",
        ],
        Error::ContentFiltered,
    ),
    (
        &[
            "input_file",
            "input_image",
            "image input",
            "image_url",
            "file_data",
            "process image",
            "decode image",
            "image exceeds",
            "process pdf",
            "pdf specified",
            "unknown variant `file`",
            "content type 'file'",
            "documents in a request",
        ],
        Error::AttachmentRefused,
    ),
    (&["is not a valid model", "provided model identifier"], Error::ModelNotFound),
    (&["credit balance is too low"], Error::QuotaExceeded),
    // Google answers a wrong key with 400.
    (&["api key not valid"], Error::Unauthenticated),
];

/// Classifies an error message.
pub(super) fn classify(message: &str) -> Option<Error> {
    let message = message.to_ascii_lowercase();
    let matches_any = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    let (_, error) = PHRASES.iter().find(|(phrases, _)| matches_any(phrases))?;
    Some(error.clone())
}

/// True if the message says that there is no such model. `kind` is the error's type: Anthropic's message for a missing
/// model is its name.
pub(super) fn names_unknown_model(message: &str, kind: Option<&str>) -> bool {
    let message = message.to_ascii_lowercase();
    let is_named = kind == Some("not_found_error") && message.starts_with("model:");
    is_named
        || message.contains("model")
            && ["does not exist", "not found", "unknown model"].iter().any(|end| message.contains(end))
}
