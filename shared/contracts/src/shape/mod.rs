//! The calling shapes (DD-001), brought to one input before anything else looks at them.
//!
//! Thick clients send the JSON contract, browsers may send `multipart/form-data`, and a thin CLI may
//! send `text/plain` with the rest in headers. The last two make the same tree that a JSON body makes and
//! are read by the same tables, so no rule is written twice. Deliberately absent: HTTP and multipart
//! syntax; a caller brings header pairs and parts.

pub mod multipart;
pub mod reply;
pub mod text;

use crate::error::{Error, ErrorCode};

/// How a request's body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape<'a> {
    /// The JSON contract: `application/json`.
    Json,
    /// A browser's form: `multipart/form-data`.
    Multipart {
        /// What separates the parts.
        boundary: &'a str,
    },
    /// A thin CLI's instruction: `text/plain`.
    Text,
}

impl<'a> Shape<'a> {
    /// The shape that a `Content-Type` announces.
    ///
    /// # Errors
    /// For a type that is none of the shapes, a charset other than UTF-8, a form without a boundary.
    pub fn of_content_type(content_type: Option<&'a str>) -> Result<Self, Error> {
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
    fn the_three_types_are_known_with_their_parameters() {
        for (content_type, shape) in [
            ("application/json", Shape::Json),
            ("Application/JSON; charset=\"UTF-8\"", Shape::Json),
            ("text/plain;charset=utf-8", Shape::Text),
            ("multipart/form-data; boundary=\"a b\"", Shape::Multipart { boundary: "a b" }),
        ] {
            assert_eq!(Shape::of_content_type(Some(content_type)), Ok(shape));
        }
    }

    #[test]
    fn other_types_are_refused() {
        for content_type in
            ["", "text/html", "application/xml", "application/jsonx", "text/plain; charset=utf-16"]
        {
            let error = Shape::of_content_type(Some(content_type)).unwrap_err();
            assert_eq!(error.error_code, ErrorCode::UnsupportedMediaType, "{content_type}");
        }
        assert!(Shape::of_content_type(None).is_err());
        let error = Shape::of_content_type(Some("multipart/form-data")).unwrap_err();
        assert_eq!(error.error_code, ErrorCode::BodyNotMultipart);
    }
}
