//! Payloads: where to read them, or what they hold.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use crate::{
    hash::{FileAddress, as_text},
    timestamp::Timestamp,
};

/// Where to read a payload for a few minutes (DD-005).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct PayloadLink {
    /// A presigned URL: needs no other authorization, and takes none.
    pub url: String,
    /// When it stops working.
    pub expires_at: Timestamp,
}

/// A payload in the answer itself. It has `Text` or `Base64`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct PayloadValue {
    /// What a file that holds it would be called.
    pub name: String,
    /// Its media type.
    pub mime_type: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: FileAddress,
    /// What it holds, where that is text: UTF-8 without NUL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// What it holds otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base64: Option<String>,
}

/// What a payload is answered with as JSON: a link, or with `inline` the payload itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum PayloadAnswer {
    /// The payload.
    Value(PayloadValue),
    /// Where it is.
    Link(PayloadLink),
}

impl PayloadValue {
    /// A payload of this name, type and contents.
    #[must_use]
    pub fn new(name: String, mime_type: String, bytes: &[u8]) -> Self {
        let text = as_text(bytes).map(str::to_owned);
        Self {
            name,
            mime_type,
            size_bytes: bytes.len() as u64,
            sha256: FileAddress::of_bytes(bytes),
            base64: text.is_none().then(|| STANDARD.encode(bytes)),
            text,
        }
    }
}
