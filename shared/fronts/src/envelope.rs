//! The errors of our own envelope, in which flows and the gateway state them.

use contracts::{Error, InvokeResult};
use serde_json::Value;

/// Translates the first error of an envelope into one of a protocol. `None` if the bytes are no envelope with errors.
#[must_use]
pub fn from_envelope<E: From<Error>>(body: &[u8]) -> Option<E> {
    let result: InvokeResult<Value> = serde_json::from_slice(body).ok()?;
    result.into_outcome().err()?.into_iter().next().map(E::from)
}

#[cfg(test)]
mod tests {
    use contracts::ErrorCode;

    use super::*;

    #[test]
    fn envelope_with_errors_is_its_first_error() {
        let busy = serde_json::to_vec(&InvokeResult::<()>::err(ErrorCode::SessionBusy.into())).unwrap();
        assert_eq!(from_envelope::<Error>(&busy).unwrap().error_code, ErrorCode::SessionBusy);
        let ok = serde_json::to_vec(&InvokeResult::ok(1)).unwrap();
        assert_eq!(from_envelope::<Error>(&ok), None);
        assert_eq!(from_envelope::<Error>(b"{}"), None);
    }
}
