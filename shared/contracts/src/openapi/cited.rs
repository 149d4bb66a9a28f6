//! The document as readers get it. Our own words name the clause that they come from, in parentheses: of records that
//! no reader of the document can open.

use super::{document, plain::plain};

/// How the names of records and what else is cited begin.
const CITED: [&str; 7] = ["AGN-", "DD-", "IDX-", "TUL-", "\u{a7}", concat!("ruling", ": "), "docs/"];

/// How the text begins: tools that leave out what a program wrote look for this mark at the beginning of a line.
const GENERATED: &str = concat!(
    "{\n  \"x-comment\":\n",
    "    \"@generated from the contract by `cargo run -p aptix -- openapi --generators`; don't edit it.\","
);

/// The document can't be written.
#[derive(Debug, thiserror::Error)]
#[error("the OpenAPI document can't be written: {0}")]
pub struct Unwritable(String);

/// The document as YAML.
///
/// # Errors
/// When it can't be written.
pub fn yaml() -> Result<String, Unwritable> {
    document().to_yaml().map(|text| without(&text)).map_err(|error| Unwritable(error.to_string()))
}

/// The document as JSON.
///
/// # Errors
/// When it can't be written.
pub fn json() -> Result<String, Unwritable> {
    document().to_json().map(|text| without(&text)).map_err(|error| Unwritable(error.to_string()))
}

/// The same in OpenAPI 3.0, as JSON: for generators of clients, which know that version best.
///
/// # Errors
/// When it can't be written.
pub fn plain_json() -> Result<String, Unwritable> {
    let unwritable = |error: serde_json::Error| Unwritable(error.to_string());
    let document = serde_json::from_str(&json()?).map_err(unwritable)?;
    let text = serde_json::to_string_pretty(&plain(document)).map_err(unwritable)?;
    Ok(format!("{}\n", text.replacen('{', GENERATED, 1)))
}

/// The text without what it cites in parentheses. No citation has a character that JSON or YAML escapes.
fn without(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(" (") {
        let (before, after) = rest.split_at(open);
        kept.push_str(before);
        match after[2..].split_once(')') {
            Some((inside, behind)) if is_cited(inside) => {
                let left: Vec<&str> = pieces(inside).filter(|piece| !names(piece)).collect();
                if !left.is_empty() {
                    kept.push_str(&format!(" ({})", left.join("; ")));
                }
                rest = behind;
            }
            _ => {
                kept.push_str(" (");
                rest = &after[2..];
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn pieces(inside: &str) -> impl Iterator<Item = &str> {
    inside.split([';', ',']).map(str::trim)
}

fn is_cited(inside: &str) -> bool {
    pieces(inside).next().is_some_and(names)
}

/// Whether it names a clause, a ruling or an invariant.
fn names(piece: &str) -> bool {
    let is_invariant = piece
        .strip_prefix('I')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    is_invariant || CITED.iter().any(|cited| piece.starts_with(cited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cited_in_parentheses_is_left_out_and_all_else_stays() {
        for (text, read) in [
            ("Its place: 1, 2 (I3).", "Its place: 1, 2."),
            ("A list (DD-003, DD-007) of two (or three).", "A list of two (or three)."),
            ("Its form (DD-005; RFC 8785), (AGN-034 \u{a7}2.1, \u{a7}3)", "Its form (RFC 8785),"),
            ("a (b (AGN-033 \u{a7}6.1) c) (Idle)", "a (b c) (Idle)"),
        ] {
            assert_eq!(without(text), read);
        }
    }
}
