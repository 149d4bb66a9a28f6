//! Bodies of imports: one exported session, or one per line.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::body::check_body_size;
use crate::{
    error::{Error, ErrorCode},
    read::{ExportEnd, SessionExport},
};

/// The format of the last line of an org's export.
const END: &str = "aptix-export-end/1";

/// The member that every document has.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DocumentFormat {
    #[serde(default)]
    format: Option<String>,
}

/// Parses a body of exported sessions.
///
/// # Errors
/// The error of the first invalid document.
pub fn parse_exports(body: &[u8]) -> Result<Vec<SessionExport>, Vec<Error>> {
    check_body_size(body.len())?;
    let documents = serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>();
    let mut exports = Vec::new();
    for (number, document) in documents.enumerate() {
        let document = document.map_err(|_| vec![ErrorCode::BodyNotJson.into()])?.get();
        let header: Option<DocumentFormat> = serde_json::from_str(document).ok();
        match header.and_then(|header| header.format).as_deref() {
            Some(END) => {
                parse_document::<ExportEnd>(document, number)?;
            }
            Some("aptix-export/1") => exports.push(parse_document::<SessionExport>(document, number)?),
            _ => {
                let rule = format!(
                    "[{number}].Format must be aptix-export/1. A document of another version is imported by a service of \
                     that version."
                );
                return Err(vec![
                    Error::new(ErrorCode::MemberInvalid, rule).with_details(format!("[{number}].Format")),
                ]);
            }
        }
    }
    if exports.is_empty() {
        let rule = "The body must hold at least one exported session.";
        return Err(vec![Error::new(ErrorCode::BodyMissing, rule)]);
    }
    Ok(exports)
}

fn parse_document<'a, T: Deserialize<'a>>(document: &'a str, number: usize) -> Result<T, Vec<Error>> {
    serde_json::from_str(document).map_err(|error| {
        let message = error.to_string();
        // These messages name members only. Other messages may quote the content.
        let names = ["unknown field", "missing field", "duplicate field"];
        let detail = if names.iter().any(|name| message.starts_with(name)) {
            message
        } else {
            format!("a value has another type, at line {} column {}", error.line(), error.column())
        };
        let rule =
            format!("[{number}] is not as an export is written: {detail}. Import what the export wrote.");
        let code =
            if detail.starts_with("unknown") { ErrorCode::MemberUnknown } else { ErrorCode::MemberInvalid };
        vec![Error::new(code, rule).with_details(format!("[{number}]"))]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(body: &str) -> (ErrorCode, String) {
        let error = parse_exports(body.as_bytes()).unwrap_err().remove(0);
        (error.error_code, error.message)
    }

    #[test]
    fn invalid_exports_rejected() {
        assert_eq!(rejected("").0, ErrorCode::BodyMissing);
        assert_eq!(rejected("{").0, ErrorCode::BodyNotJson);
        for other in [r#"{"Format":"aptix-export/2"}"#, "{}", "[]", "7"] {
            let (code, rule) = rejected(other);
            assert_eq!(code, ErrorCode::MemberInvalid, "{other}");
            assert!(rule.contains("Format must be aptix-export/1"), "{rule}");
        }
        let (code, rule) = rejected(r#"{"Format":"aptix-export/1","Colour":"red"}"#);
        assert_eq!(code, ErrorCode::MemberUnknown);
        assert!(rule.contains("unknown field `Colour`"), "{rule}");
        let (code, rule) = rejected(r#"{"Format":"aptix-export/1","Session":"a secret"}"#);
        assert_eq!(code, ErrorCode::MemberInvalid);
        assert!(!rule.contains("secret") && rule.contains("column"), "{rule}");
    }

    #[test]
    fn export_end_line_is_not_a_session() {
        let end = r#"{"Format":"aptix-export-end/1","SessionCount":0}"#;
        assert_eq!(rejected(end).1, "The body must hold at least one exported session.");
    }
}
