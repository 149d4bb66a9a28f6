//! Checks of the guardrail that a context declares.

use crate::{fault::FaultCollector, model::model_settings::Guardrail};

/// The maximum number of characters of an id or an ARN.
const MAX_ID_CHARS: usize = 2_048;
/// The maximum number of digits of a version.
const MAX_VERSION_DIGITS: usize = 8;

/// Checks `Guardrail` of a context.
pub(super) fn check(guardrail: &Guardrail, at: &str, faults: &mut FaultCollector) {
    let Guardrail { id, version } = guardrail;
    let is_plain =
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_arn =
        id.starts_with("arn:aws") && id.contains(":guardrail/") && id.bytes().all(|b| b.is_ascii_graphic());
    faults.require(
        id.len() <= MAX_ID_CHARS && (is_plain || is_arn),
        format!("{at}.Guardrail.Id"),
        "must be the id of a guardrail, of lower-case letters and digits, or its ARN",
    );
    let is_number = (1..=MAX_VERSION_DIGITS).contains(&version.len())
        && !version.starts_with('0')
        && version.bytes().all(|byte| byte.is_ascii_digit());
    faults.require(
        is_number || version == "DRAFT",
        format!("{at}.Guardrail.Version"),
        "must be a version number or DRAFT",
    );
}
