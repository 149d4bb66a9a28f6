//! Payloads and links to them.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use crate::{
    hash::{FileAddress, as_text},
    timestamp::Timestamp,
};

/// A link to a payload that expires after a few minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct PayloadLink {
    /// Presigned URL. Send no `Authorization` header with it.
    pub url: String,
    /// Expiry of the URL.
    pub expires_at: Timestamp,
}

/// An inline payload. It has `Text` or `Base64`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct PayloadValue {
    /// File name for the payload.
    pub name: String,
    /// Media type.
    pub mime_type: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the bytes.
    pub sha256: FileAddress,
    /// The content, if it is text: UTF-8 without NUL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// The content in Base64, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base64: Option<String>,
}

/// A payload as JSON: a link, or the payload itself if `inline` is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum PayloadAnswer {
    /// The payload.
    Value(PayloadValue),
    /// A link to the payload.
    Link(PayloadLink),
}

impl PayloadValue {
    /// Creates an inline payload.
    #[must_use]
    pub fn new(name: String, mime_type: String, bytes: &[u8]) -> Self {
        let text = as_text(bytes).map(str::to_owned);
        Self {
            name,
            mime_type,
            size_bytes: bytes.len() as u64,
            sha256: FileAddress::hash_bytes(bytes),
            base64: text.is_none().then(|| STANDARD.encode(bytes)),
            text,
        }
    }
}
