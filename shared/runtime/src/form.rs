//! Reads multipart forms.

use axum::body::Bytes;
use contracts::request::limits::MAX_FORM_PARTS;
use futures::stream;

/// A part of a form, fully read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormPart {
    /// The name of the field.
    pub name: String,
    /// The name of the file, if the part is a file.
    pub file_name: Option<String>,
    /// The media type of the part.
    pub content_type: Option<String>,
    /// The content of the part.
    pub bytes: Bytes,
}

/// A form that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// The body isn't a form with this boundary.
    #[error("The body is not the multipart form that its Content-Type announces")]
    Malformed,
    /// The form has more parts than any request needs.
    #[error("The form has more than {MAX_FORM_PARTS} parts")]
    TooManyParts,
}

/// Reads the parts of a form.
///
/// # Errors
/// If the body isn't a form, or the form has more than [`MAX_FORM_PARTS`] parts.
pub async fn read_form(body: Bytes, boundary: &str) -> Result<Vec<FormPart>, FormError> {
    let body = stream::once(async { Ok::<_, std::convert::Infallible>(body) });
    let mut form = multer::Multipart::new(body, boundary);
    let mut parts = Vec::new();
    while let Some(part) = form.next_field().await.map_err(|_| FormError::Malformed)? {
        if parts.len() == MAX_FORM_PARTS {
            return Err(FormError::TooManyParts);
        }
        parts.push(FormPart {
            name: part.name().unwrap_or_default().to_owned(),
            file_name: part.file_name().map(str::to_owned),
            content_type: part.content_type().map(ToString::to_string),
            bytes: part.bytes().await.map_err(|_| FormError::Malformed)?,
        });
    }
    Ok(parts)
}
