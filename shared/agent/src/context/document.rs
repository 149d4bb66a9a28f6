//! Contexts as an operator writes them: a JSON file of one or several.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{
    AgentContext, ConversationContext, context_check as check, fallback_check, limits::MAX_FILE_BYTES,
};
use crate::{
    fault::{Faults, Found},
    mode::{Catalog, shape},
};

const MINIMAL_AGENT: &str = r#"{"Kind":"agent","Id":"a","Name":""}"#;
const MINIMAL_CONVERSATION: &str = r#"{"Kind":"conversation","Id":"a","Name":"","System":""}"#;

/// A context that says by its `Kind` which one it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "Kind")]
#[expect(clippy::large_enum_variant, reason = "a file holds a handful, and each is read once")]
pub enum Document {
    /// `"Kind": "agent"`.
    #[serde(rename = "agent")]
    AgentContext(AgentContext),
    /// `"Kind": "conversation"`.
    #[serde(rename = "conversation")]
    ConversationContext(ConversationContext),
}

impl Document {
    /// The word in `Kind`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AgentContext(_) => "agent",
            Self::ConversationContext(_) => "conversation",
        }
    }

    /// The context's id; unique among those of its kind.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::AgentContext(context) => context.id.as_str(),
            Self::ConversationContext(context) => context.id.as_str(),
        }
    }

    /// The context's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::AgentContext(context) => &context.name,
            Self::ConversationContext(context) => &context.name,
        }
    }
}

/// Reads a JSON object that is one context, or an array of them. `providers` are those that contexts may name.
///
/// # Errors
/// Every fault at once: of shape, and of what has to hold for a context.
pub fn parse_documents(
    json: &str,
    catalog: &Catalog,
    server_tools: &[&str],
    providers: &[&str],
) -> Result<Vec<Document>, Faults> {
    let mut found = Found::default();
    let mut documents: Vec<Document> = Vec::new();
    let mut ids = HashSet::new();
    for (at, json) in shape::entries(json, "contexts", MAX_FILE_BYTES, &mut found) {
        let Some(document) = read(json, &at, &mut found) else { continue };
        check::document(&document, catalog, server_tools, &at, &mut found);
        if let Document::ConversationContext(context) = &document {
            fallback_check::of_context(context, providers, &at, &mut found);
        }
        let (kind, id) = (document.kind(), document.id());
        found.unless(
            ids.insert((kind, id.to_owned())),
            format!("{at}.Id"),
            format_args!("another {kind} context has the id {id:?} too"),
        );
        documents.push(document);
    }
    found.check().map(|()| documents)
}

fn read(json: &str, at: &str, found: &mut Found) -> Option<Document> {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(rename = "Kind")]
        kind: String,
    }
    // Without its kind nothing can be said about the other members.
    let minimal = match serde_json::from_str::<Tag>(json).as_ref().map(|tag| tag.kind.as_str()) {
        Ok("agent") => MINIMAL_AGENT,
        Ok("conversation") => MINIMAL_CONVERSATION,
        _ => {
            found.add(at, "must be an object whose Kind is \"agent\" or \"conversation\"");
            return None;
        }
    };
    shape::read(json, minimal, at, found)
}
