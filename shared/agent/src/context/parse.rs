//! Parses contexts as an operator writes them: a JSON file with one or more.

use std::{collections::HashSet, sync::Arc};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ContextKind, Document, check, fallback_check, limits::MAX_FILE_BYTES};
use crate::{
    fault::{FaultCollector, Faults},
    mode::{Catalog, Mode, parse},
    model::providers::DeclaredProvider,
};

/// The member with the limits of a prompt's content, and its name in older files.
const PROMPT_LIMITS: &str = "PromptLimits";
const FORMER_PROMPT_LIMITS: &str = "Budgets";

const MINIMAL_AGENT: &str = r#"{"Kind":"agent","Id":"a","Name":""}"#;
const MINIMAL_CONVERSATION: &str = r#"{"Kind":"conversation","Id":"a","Name":"","System":""}"#;
const MINIMAL_CONNECTION: &str = r#"{"Kind":"connection","Id":"a","Name":"","Protocol":"http","Url":""}"#;
const MINIMAL_WEBHOOK: &str = r#"{"Kind":"webhook","Id":"a","Name":"","Url":"","Events":[]}"#;
const MINIMAL_MODE: &str = r#"{"Kind":"mode","Key":"a","DisplayName":"","Description":"","WhenToUse":"",
    "Status":"active","Version":""}"#;

/// Parses a JSON object that is one context, or an array of them. Contexts may name only these `providers`, and the modes
/// of the catalog and the file.
///
/// # Errors
/// Returns every fault at once, in shape and in content.
pub(super) fn parse_documents(
    json: &str,
    catalog: &Catalog,
    server_tools: &[&str],
    providers: &[DeclaredProvider],
) -> Result<Vec<Document>, Faults> {
    let mut faults = FaultCollector::default();
    let entries = parse::parse_entries(json, "contexts", MAX_FILE_BYTES, &mut faults);
    let parse = |(at, json): (String, &str)| Some((parse_context(json, &at, &mut faults)?, at));
    let documents: Vec<(Document, String)> = entries.into_iter().filter_map(parse).collect();
    let mut ids = HashSet::new();
    for (document, at) in &documents {
        let catalog = catalog.with_modes(&modes_besides(document, &documents));
        check(document, &catalog, server_tools, providers, at, &mut faults);
        let (kind, id) = (document.context_id().kind(), document.id());
        let what = match kind {
            ContextKind::Mode => format!("another mode has the key {id:?} too"),
            ContextKind::Connection => format!("another connection has the id {id:?} too"),
            ContextKind::Webhook => format!("another webhook has the id {id:?} too"),
            ContextKind::Agent | ContextKind::Conversation => {
                format!("another {} context has the id {id:?} too", kind.name())
            }
        };
        faults.require(ids.insert((kind, id)), format!("{at}.{}", kind.id_member()), what);
    }
    faults.finish()?;
    Ok(documents.into_iter().map(|(document, _)| document).collect())
}

/// Returns the modes among the documents, except for this one.
fn modes_besides(document: &Document, all: &[(Document, String)]) -> Vec<Arc<Mode>> {
    let others = all.iter().filter(|(other, _)| !std::ptr::eq(other, document));
    let modes = others.filter_map(|(other, _)| match other {
        Document::Mode(mode) => Some(Arc::new(mode.clone())),
        Document::AgentContext(_)
        | Document::ConversationContext(_)
        | Document::Connection(_)
        | Document::Webhook(_) => None,
    });
    modes.collect()
}

/// Checks a context beyond its shape.
pub(super) fn check(
    document: &Document,
    catalog: &Catalog,
    server_tools: &[&str],
    providers: &[DeclaredProvider],
    at: &str,
    faults: &mut FaultCollector,
) {
    check::check_document(document, catalog, server_tools, at, faults);
    if let Document::ConversationContext(context) = document {
        fallback_check::check(context, providers, at, faults);
    }
}

/// Parses one context, whose `Kind` says which one.
pub(super) fn parse_context(json: &str, at: &str, faults: &mut FaultCollector) -> Option<Document> {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(rename = "Kind")]
        kind: String,
    }
    // Without the kind, the other members can't be checked.
    let minimal = match serde_json::from_str::<Tag>(json).as_ref().map(|tag| tag.kind.as_str()) {
        Ok("agent") => MINIMAL_AGENT,
        Ok("conversation") => MINIMAL_CONVERSATION,
        Ok("mode") => MINIMAL_MODE,
        Ok("connection") => MINIMAL_CONNECTION,
        Ok("webhook") => MINIMAL_WEBHOOK,
        _ => {
            faults.add(
                at,
                "must be an object whose Kind is \"agent\", \"conversation\", \"mode\", \"connection\" or \"webhook\"",
            );
            return None;
        }
    };
    // The parser would report a duplicate member, under the current name alone.
    let members: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    if minimal == MINIMAL_CONVERSATION
        && members.contains_key(FORMER_PROMPT_LIMITS)
        && members.contains_key(PROMPT_LIMITS)
    {
        faults.add(
            format!("{at}.{FORMER_PROMPT_LIMITS}"),
            format_args!("is the former name of {PROMPT_LIMITS}. Use only {PROMPT_LIMITS}"),
        );
        return None;
    }
    let document = parse::parse_document(json, minimal, at, faults)?;
    Some(match document {
        Document::Mode(mode) => Document::Mode(mode.with_default_id()),
        context => context,
    })
}
