//! The providers' error codes.

use std::time::Duration;

use agent::model::Error;

/// Classifies an error code or type. Returns `None` if it isn't specific enough. A numeric code is the HTTP status that
/// the error would have had on its own.
pub(super) fn classify_code(code: &str, retry_after: Option<Duration>) -> Option<Error> {
    Some(match code {
        "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" | "billing_error" => {
            Error::QuotaExceeded
        }
        "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" | "RESOURCE_EXHAUSTED" => {
            Error::RateLimited { retry_after }
        }
        "context_length_exceeded"
        | "request_too_large"
        | "exceed_context_size_error"
        | "model_context_window_exceeded" => Error::ContextTooLong,
        "content_filter"
        | "content_policy_violation"
        | "image_content_policy_violation"
        | "ResponsibleAIPolicyViolation"
        | "bio_policy"
        | "cyber_policy"
        | "misalignment_policy_violation" => Error::ContentFiltered,
        "invalid_image"
        | "invalid_image_format"
        | "invalid_base64_image"
        | "invalid_image_url"
        | "invalid_image_mode"
        | "image_too_large"
        | "image_too_small"
        | "image_parse_error"
        | "image_file_too_large"
        | "image_file_not_found"
        | "unsupported_image_media_type"
        | "empty_image_file"
        | "failed_to_download_image"
        | "unsupported_file"
        | "invalid_file" => Error::AttachmentRefused,
        "data_residency_mismatch" => Error::Rejected { status: 400 },
        "previous_response_not_found" => Error::ChainLost,
        "model_not_found" | "DeploymentNotFound" => Error::ModelNotFound,
        "invalid_api_key" | "authentication_error" | "permission_error" => Error::Unauthenticated,
        "server_error"
        | "internal_error"
        | "overloaded_error"
        | "server_overloaded"
        | "vector_store_timeout"
        | "InternalServerError" => Error::Unavailable { retry_after },
        number => match number.parse() {
            Ok(status @ (401 | 402 | 403 | 408 | 409 | 413 | 429 | 500..600)) => {
                classify_status(status, retry_after)
            }
            _ => return classify_exception(number, retry_after),
        },
    })
}

/// Classifies an exception of AWS. In an event stream, its name starts with a lower-case letter.
fn classify_exception(name: &str, retry_after: Option<Duration>) -> Option<Error> {
    Some(match name.to_ascii_lowercase().strip_suffix("exception")? {
        "throttling" => Error::RateLimited { retry_after },
        "servicequotaexceeded" => Error::QuotaExceeded,
        "accessdenied" => Error::Unauthenticated,
        "resourcenotfound" => Error::ModelNotFound,
        "internalserver" | "modelerror" | "modelnotready" | "modelstreamerror" | "modeltimeout"
        | "serviceunavailable" => Error::Unavailable { retry_after },
        _ => return None,
    })
}

/// Classifies a status without an error code.
pub(super) fn classify_status(status: u16, retry_after: Option<Duration>) -> Error {
    match status {
        401 | 403 => Error::Unauthenticated,
        402 => Error::QuotaExceeded,
        413 => Error::ContextTooLong,
        429 => Error::RateLimited { retry_after },
        // Bedrock answers 424 if the model failed.
        408 | 409 | 424 | 500.. => Error::Unavailable { retry_after },
        _ => Error::Rejected { status },
    }
}
