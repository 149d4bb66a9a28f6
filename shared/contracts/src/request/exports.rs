//! Exported sessions, as an import takes them: one document, or one a line.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::body_size;
use crate::{
    error::{Error, ErrorCode},
    read::{ExportEnd, SessionExport},
};

/// What the last line of an org's export begins with.
const END: &str = "aptix-export-end/1";

/// What every document names.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    #[serde(default)]
    format: Option<String>,
}

/// Reads a body of exported sessions.
///
/// # Errors
/// What is wrong with the first document that is none.
pub fn exports(body: &[u8]) -> Result<Vec<SessionExport>, Vec<Error>> {
    body_size(body.len())?;
    let documents = serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>();
    let mut exports = Vec::new();
    for (number, document) in documents.enumerate() {
        let document = document.map_err(|_| vec![ErrorCode::BodyNotJson.into()])?.get();
        let named: Option<Named> = serde_json::from_str(document).ok();
        match named.and_then(|named| named.format).as_deref() {
            Some(END) => {
                read::<ExportEnd>(document, number)?;
            }
            Some("aptix-export/1") => exports.push(read::<SessionExport>(document, number)?),
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

fn read<'a, T: Deserialize<'a>>(document: &'a str, number: usize) -> Result<T, Vec<Error>> {
    serde_json::from_str(document).map_err(|error| {
        let told = error.to_string();
        // These name members alone; the rest may quote what is there.
        let names = ["unknown field", "missing field", "duplicate field"];
        let what = if names.iter().any(|name| told.starts_with(name)) {
            told
        } else {
            format!("a value has another type, at line {} column {}", error.line(), error.column())
        };
        let rule =
            format!("[{number}] is not as an export is written: {what}. Import what the export wrote.");
        let code =
            if what.starts_with("unknown") { ErrorCode::MemberUnknown } else { ErrorCode::MemberInvalid };
        vec![Error::new(code, rule).with_details(format!("[{number}]"))]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (ErrorCode, String) {
        let error = exports(body.as_bytes()).unwrap_err().remove(0);
        (error.error_code, error.message)
    }

    #[test]
    fn what_is_no_export_is_refused_by_name() {
        assert_eq!(refused("").0, ErrorCode::BodyMissing);
        assert_eq!(refused("{").0, ErrorCode::BodyNotJson);
        for other in [r#"{"Format":"aptix-export/2"}"#, "{}", "[]", "7"] {
            let (code, rule) = refused(other);
            assert_eq!(code, ErrorCode::MemberInvalid, "{other}");
            assert!(rule.contains("Format must be aptix-export/1"), "{rule}");
        }
        let (code, rule) = refused(r#"{"Format":"aptix-export/1","Colour":"red"}"#);
        assert_eq!(code, ErrorCode::MemberUnknown);
        assert!(rule.contains("unknown field `Colour`"), "{rule}");
        let (code, rule) = refused(r#"{"Format":"aptix-export/1","Session":"a secret"}"#);
        assert_eq!(code, ErrorCode::MemberInvalid);
        assert!(!rule.contains("secret") && rule.contains("column"), "{rule}");
    }

    #[test]
    fn the_last_line_of_an_orgs_export_is_no_session() {
        let end = r#"{"Format":"aptix-export-end/1","SessionCount":0}"#;
        assert_eq!(refused(end).1, "The body must hold at least one exported session.");
    }
}
