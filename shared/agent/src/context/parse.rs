//! Parses contexts as an operator writes them: a JSON file with one or more.

use std::collections::HashSet;

use serde::Deserialize;

use super::{Document, check, fallback_check, limits::MAX_FILE_BYTES};
use crate::{
    fault::{FaultCollector, Faults},
    mode::{Catalog, parse},
};

const MINIMAL_AGENT: &str = r#"{"Kind":"agent","Id":"a","Name":""}"#;
const MINIMAL_CONVERSATION: &str = r#"{"Kind":"conversation","Id":"a","Name":"","System":""}"#;

/// Parses a JSON object that is one context, or an array of them. Contexts may name only these `providers`.
///
/// # Errors
/// Returns every fault at once, in shape and in content.
pub fn parse_documents(
    json: &str,
    catalog: &Catalog,
    server_tools: &[&str],
    providers: &[&str],
) -> Result<Vec<Document>, Faults> {
    let mut faults = FaultCollector::default();
    let mut documents: Vec<Document> = Vec::new();
    let mut ids = HashSet::new();
    for (at, json) in parse::parse_entries(json, "contexts", MAX_FILE_BYTES, &mut faults) {
        let Some(document) = parse_context(json, &at, &mut faults) else { continue };
        check::check_document(&document, catalog, server_tools, &at, &mut faults);
        if let Document::ConversationContext(context) = &document {
            fallback_check::check(context, providers, &at, &mut faults);
        }
        let (kind, id) = (document.kind(), document.id());
        faults.require(
            ids.insert((kind, id.to_owned())),
            format!("{at}.Id"),
            format_args!("another {kind} context has the id {id:?} too"),
        );
        documents.push(document);
    }
    faults.finish().map(|()| documents)
}

fn parse_context(json: &str, at: &str, faults: &mut FaultCollector) -> Option<Document> {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(rename = "Kind")]
        kind: String,
    }
    // Without the kind, the other members can't be checked.
    let minimal = match serde_json::from_str::<Tag>(json).as_ref().map(|tag| tag.kind.as_str()) {
        Ok("agent") => MINIMAL_AGENT,
        Ok("conversation") => MINIMAL_CONVERSATION,
        _ => {
            faults.add(at, "must be an object whose Kind is \"agent\" or \"conversation\"");
            return None;
        }
    };
    parse::parse_document(json, minimal, at, faults)
}
