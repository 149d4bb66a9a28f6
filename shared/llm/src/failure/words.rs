//! What the words of an error mean where no code tells. They are compared with these and go nowhere else (I14).

use agent::model::Error;

/// Phrases of errors, in small letters, and what each stands for; the first that is there counts. docs/providers.md
/// says whose they are.
const PHRASES: [(&[&str], Error); 5] = [
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
        ],
        Error::AttachmentRefused,
    ),
    (&["is not a valid model"], Error::ModelNotFound),
];

/// The error that these words stand for.
pub(super) fn of_words(words: &str) -> Option<Error> {
    let words = words.to_ascii_lowercase();
    let said = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let (_, error) = PHRASES.iter().find(|(phrases, _)| said(phrases))?;
    Some(error.clone())
}

/// Whether these words say that there is no such model.
pub(super) fn of_unknown_model(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.contains("model")
        && ["does not exist", "not found", "unknown model"].iter().any(|end| words.contains(end))
}
