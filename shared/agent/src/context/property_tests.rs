//! Property tests: any input parses to contexts or to faults, and never panics.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{
    parse::parse_documents,
    tests::{SERVER_TOOLS, agent, catalog, conversation, parse, providers, with},
};
use crate::mode::Catalog;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Decimals with two digits: the JSON reader parses those exactly, so they survive a round trip.
        (-300i32..300).prop_map(|hundredths| Value::from(f64::from(hundredths) / 100.0)),
        Just(Value::from(1e300)),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["agent", "conversation", "object", "client", "general", "1.5"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 32, 6, |inner| {
        let name = prop_oneof![any_name(), "[a-zA-Z]{0,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn any_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "Kind",
        "Id",
        "Key",
        "Name",
        "System",
        "ClientTools",
        "Temperature",
        "PromptLimits",
        "Prices",
        "MaxRounds",
        "Parameters",
        "DefaultMode",
        "DisplayName",
        "RagScopeHints",
        "AssociatedToolIds",
        "IsDefault",
        "Status",
    ])
    .prop_map(ToOwned::to_owned)
}

/// Nearly valid documents reach deeper checks than arbitrary ones.
fn any_document() -> impl Strategy<Value = Value> {
    let base = prop_oneof![Just(agent()), Just(conversation())];
    let nearly = (base, any_name(), any_json()).prop_map(|(base, name, value)| with(base, &name, value));
    prop_oneof![any_json(), nearly]
}

proptest! {
    #[test]
    fn any_json_parses_to_contexts_or_faults(document in any_document()) {
        match parse(&document) {
            Ok(documents) => {
                let serialized = serde_json::to_value(&documents).unwrap();
                prop_assert_eq!(parse(&serialized).unwrap(), documents);
            }
            Err(faults) => prop_assert!(!faults.is_empty()),
        }
    }

    #[test]
    fn any_json_parses_to_a_catalog_or_faults(json in any_json()) {
        match Catalog::parse(&json.to_string(), SERVER_TOOLS) {
            Ok(catalog) => prop_assert!(catalog.default_mode().is_default),
            Err(faults) => prop_assert!(!faults.as_slice().is_empty()),
        }
    }

    #[test]
    fn any_text_parses_without_panic(text in "\\PC{0,64}") {
        let _ = parse_documents(&text, &catalog(), SERVER_TOOLS, &providers());
    }
}
