//! Serializes the OpenAPI document and removes citations of internal records. Doc comments may cite them in
//! parentheses, but readers of the document can't open them.

use crate::{document, down_conversion::down_convert};

/// The prefixes of citations.
const PREFIXES: [&str; 7] = ["AGN-", "DD-", "IDX-", "TUL-", "\u{a7}", concat!("ruling", ": "), "docs/"];

/// First line of the file in the repository. Tools that skip generated files look for the mark.
const HEADER: &str = "# @generated from the contract by `cargo run -p aptix -- openapi > infra/openapi.yaml`; don't edit it.\n";

/// The OpenAPI document can't be serialized.
#[derive(Debug, thiserror::Error)]
#[error("can't serialize the OpenAPI document: {0}")]
pub struct SerializeError(String);

/// Returns the document as YAML, as stored in `infra/openapi.yaml`.
///
/// # Errors
/// If serialization fails.
pub fn yaml() -> Result<String, SerializeError> {
    let yaml = document().to_yaml().map_err(|error| SerializeError(error.to_string()))?;
    Ok(format!("{HEADER}{}", strip_citations(&yaml)))
}

/// Returns the document as JSON.
///
/// # Errors
/// If serialization fails.
pub fn json() -> Result<String, SerializeError> {
    document().to_json().map(|text| strip_citations(&text)).map_err(|error| SerializeError(error.to_string()))
}

/// Returns the document in OpenAPI 3.0 as JSON, which client generators support best.
///
/// # Errors
/// If serialization fails.
pub fn json_3_0() -> Result<String, SerializeError> {
    let serialize_error = |error: serde_json::Error| SerializeError(error.to_string());
    let document = serde_json::from_str(&json()?).map_err(serialize_error)?;
    serde_json::to_string_pretty(&down_convert(document)).map(|text| text + "\n").map_err(serialize_error)
}

/// Removes citations in parentheses from the text. No citation has a character that JSON or YAML escapes.
fn strip_citations(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(" (") {
        let (before, after) = rest.split_at(open);
        output.push_str(before);
        match after[2..].split_once(')') {
            Some((inside, behind)) if is_citation(inside) => {
                let remaining: Vec<&str> = pieces(inside).filter(|piece| !is_reference(piece)).collect();
                if !remaining.is_empty() {
                    output.push_str(&format!(" ({})", remaining.join("; ")));
                }
                rest = behind;
            }
            _ => {
                output.push_str(" (");
                rest = &after[2..];
            }
        }
    }
    output.push_str(rest);
    output
}

fn pieces(inside: &str) -> impl Iterator<Item = &str> {
    inside.split([';', ',']).map(str::trim)
}

fn is_citation(inside: &str) -> bool {
    pieces(inside).next().is_some_and(is_reference)
}

/// True if the text names a clause, a ruling or an invariant.
fn is_reference(piece: &str) -> bool {
    let is_invariant = piece
        .strip_prefix('I')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    is_invariant || PREFIXES.iter().any(|prefix| piece.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parenthesized_citations_removed() {
        for (text, expected) in [
            ("Its place: 1, 2 (I3).", "Its place: 1, 2."),
            ("A list (DD-003, DD-007) of two (or three).", "A list of two (or three)."),
            ("Its form (DD-005; RFC 8785), (AGN-034 \u{a7}2.1, \u{a7}3)", "Its form (RFC 8785),"),
            ("a (b (AGN-033 \u{a7}6.1) c) (Idle)", "a (b c) (Idle)"),
        ] {
            assert_eq!(strip_citations(text), expected);
        }
    }
}
