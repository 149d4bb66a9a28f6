//! The encodings of a request: JSON, form and plain text. All become one input before anything else reads them.
//!
//! Thick clients send JSON, browsers may send `multipart/form-data`, and thin CLIs may send `text/plain` with the
//! other members in headers. Forms and text become the same tree that a JSON body becomes, and are read by the same
//! field tables, so no rule is written twice. Deliberately absent: HTTP and multipart syntax. A caller passes
//! header pairs and parts.

pub mod multipart;
pub mod text;
pub mod text_response;

use crate::error::{Error, ErrorCode};

/// The encoding of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding<'a> {
    /// JSON: `application/json`.
    Json,
    /// A browser's form: `multipart/form-data`.
    Multipart {
        /// The boundary between the parts.
        boundary: &'a str,
    },
    /// A plain text instruction: `text/plain`.
    Text,
}

impl<'a> Encoding<'a> {
    /// Returns the encoding that a `Content-Type` names.
    ///
    /// # Errors
    /// If the type is unsupported, the charset is not UTF-8, or a form has no boundary.
    pub fn from_content_type(content_type: Option<&'a str>) -> Result<Self, Error> {
        let content_type = content_type.ok_or_else(unsupported)?;
        let (essence, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
        let parameter = |name: &str| {
            parameters.split(';').find_map(|parameter| {
                let (found, value) = parameter.split_once('=')?;
                found.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
            })
        };
        if parameter("charset").is_some_and(|charset| !charset.eq_ignore_ascii_case("utf-8")) {
            return Err(unsupported());
        }
        match essence.trim().to_ascii_lowercase().as_str() {
            "application/json" => Ok(Self::Json),
            "text/plain" => Ok(Self::Text),
            "multipart/form-data" => parameter("boundary")
                .filter(|boundary| !boundary.is_empty())
                .map(|boundary| Self::Multipart { boundary })
                .ok_or_else(|| {
                    Error::new(
                        ErrorCode::BodyNotMultipart,
                        "Content-Type must name the boundary of the parts",
                    )
                }),
            _ => Err(unsupported()),
        }
    }
}

fn unsupported() -> Error {
    Error::new(
        ErrorCode::UnsupportedMediaType,
        "Content-Type must be application/json, multipart/form-data or text/plain, in UTF-8",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_media_types_recognized() {
        for (content_type, shape) in [
            ("application/json", Encoding::Json),
            ("Application/JSON; charset=\"UTF-8\"", Encoding::Json),
            ("text/plain;charset=utf-8", Encoding::Text),
            ("multipart/form-data; boundary=\"a b\"", Encoding::Multipart { boundary: "a b" }),
        ] {
            assert_eq!(Encoding::from_content_type(Some(content_type)), Ok(shape));
        }
    }

    #[test]
    fn other_media_types_rejected() {
        for content_type in
            ["", "text/html", "application/xml", "application/jsonx", "text/plain; charset=utf-16"]
        {
            let error = Encoding::from_content_type(Some(content_type)).unwrap_err();
            assert_eq!(error.error_code, ErrorCode::UnsupportedMediaType, "{content_type}");
        }
        assert!(Encoding::from_content_type(None).is_err());
        let error = Encoding::from_content_type(Some("multipart/form-data")).unwrap_err();
        assert_eq!(error.error_code, ErrorCode::BodyNotMultipart);
    }
}
