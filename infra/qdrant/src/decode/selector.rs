//! Selection of payload and vectors to return with a point.

use qdrant_client::qdrant as wire;
use qdrant_edge::{PayloadSelectorExclude, PayloadSelectorInclude, WithPayloadInterface, WithVector};

use super::point::key;
use crate::refusal::Refusal;

/// Decodes the payload selector. Returns `None` if it is missing.
pub(crate) fn payload(
    selector: Option<wire::WithPayloadSelector>,
) -> Result<Option<WithPayloadInterface>, Refusal> {
    use wire::with_payload_selector::SelectorOptions;
    let keys = |fields: Vec<String>| fields.iter().map(|field| key(field)).collect::<Result<_, _>>();
    Ok(match selector.and_then(|selector| selector.selector_options) {
        None => None,
        Some(SelectorOptions::Enable(enable)) => Some(enable.into()),
        Some(SelectorOptions::Include(of)) => Some(PayloadSelectorInclude::new(keys(of.fields)?).into()),
        Some(SelectorOptions::Exclude(of)) => Some(PayloadSelectorExclude::new(keys(of.fields)?).into()),
    })
}

/// Decodes the vector selector. Selects none if it is missing.
pub(crate) fn vectors(selector: Option<wire::WithVectorsSelector>) -> WithVector {
    use wire::with_vectors_selector::SelectorOptions;
    match selector.and_then(|selector| selector.selector_options) {
        None => WithVector::Bool(false),
        Some(SelectorOptions::Enable(enable)) => WithVector::Bool(enable),
        Some(SelectorOptions::Include(of)) => WithVector::Selector(of.names),
    }
}
