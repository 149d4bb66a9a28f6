//! `InvokeResult`, the envelope of every response body.
//!
//! Deliberately absent: a way to hold both a result and errors, or neither.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, ErrorCode};

/// A warning about the system, not about the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Warning {
    /// The warning's text.
    pub message: String,
    /// A stable code, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<String>,
}

/// `InvokeResult<T>`: a result or errors, never both, never neither.
///
/// # Examples
///
/// ```
/// use contracts::{ErrorCode, InvokeResult};
///
/// let answered = InvokeResult::ok("It returns 0.");
/// assert_eq!(
///     serde_json::to_string(&answered)?,
///     r#"{"Successful":true,"Result":"It returns 0.","Errors":[],"Warnings":[]}"#,
/// );
///
/// let refused = InvokeResult::<String>::err(ErrorCode::SessionNotFound.into());
/// assert_eq!((refused.successful(), refused.http_status()), (false, 404));
///
/// // An envelope that contradicts itself can't be read.
/// let neither = r#"{"Successful":true,"Result":null,"Errors":[],"Warnings":[]}"#;
/// assert!(serde_json::from_str::<InvokeResult<String>>(neither).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvokeResult<T> {
    // Never an empty list: the constructors guarantee it.
    outcome: Result<T, Vec<Error>>,
    warnings: Vec<Warning>,
}

impl<T> InvokeResult<T> {
    /// Creates a successful result.
    pub fn ok(result: T) -> Self {
        Self { outcome: Ok(result), warnings: Vec::new() }
    }

    /// Creates a failure with one error.
    pub fn err(error: Error) -> Self {
        Self::errors(vec![error])
    }

    /// Creates a failure with these errors. An empty list would be a failure without a reason, which is a bug: it
    /// becomes [`ErrorCode::Internal`].
    pub fn errors(errors: Vec<Error>) -> Self {
        let errors = if errors.is_empty() { vec![Error::from(ErrorCode::Internal)] } else { errors };
        Self { outcome: Err(errors), warnings: Vec::new() }
    }

    /// Adds warnings about the system.
    #[must_use]
    pub fn with_warnings(mut self, warnings: impl IntoIterator<Item = Warning>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// True if there is a result.
    #[must_use]
    pub fn successful(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The result, or the errors: at least one.
    ///
    /// # Errors
    /// The errors of a failed invocation.
    pub fn outcome(&self) -> Result<&T, &[Error]> {
        self.outcome.as_ref().map_err(Vec::as_slice)
    }

    /// The result, or the errors: at least one.
    ///
    /// # Errors
    /// The errors of a failed invocation.
    pub fn into_outcome(self) -> Result<T, Vec<Error>> {
        self.outcome
    }

    /// The result, if there is one.
    #[must_use]
    pub fn into_result(self) -> Option<T> {
        self.outcome.ok()
    }

    /// Warnings about the system.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The HTTP status: 200, or the first error's status.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        match &self.outcome {
            Ok(_) => 200,
            Err(errors) => errors.first().map_or(ErrorCode::Internal, |error| error.error_code).http_status(),
        }
    }

    /// Maps the result and keeps the errors and warnings.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> InvokeResult<U> {
        InvokeResult { outcome: self.outcome.map(change), warnings: self.warnings }
    }
}

impl<T> From<Result<T, Error>> for InvokeResult<T> {
    fn from(outcome: Result<T, Error>) -> Self {
        outcome.map_or_else(Self::err, Self::ok)
    }
}

impl<T> From<Result<T, Vec<Error>>> for InvokeResult<T> {
    fn from(outcome: Result<T, Vec<Error>>) -> Self {
        outcome.map_or_else(Self::errors, Self::ok)
    }
}

impl<T: Serialize> Serialize for InvokeResult<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct Wire<'a, T> {
            successful: bool,
            result: Option<&'a T>,
            errors: &'a [Error],
            warnings: &'a [Warning],
        }
        Wire {
            successful: self.successful(),
            result: self.outcome.as_ref().ok(),
            errors: self.outcome.as_ref().err().map_or(&[], Vec::as_slice),
            warnings: &self.warnings,
        }
        .serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InvokeResult<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase", deny_unknown_fields)]
        struct Wire<T> {
            successful: bool,
            result: Option<T>,
            errors: Vec<Error>,
            warnings: Vec<Warning>,
        }
        let wire = Wire::deserialize(deserializer)?;
        let outcome = match (wire.successful, wire.result, wire.errors.is_empty()) {
            (true, Some(result), true) => Ok(result),
            (false, None, false) => Err(wire.errors),
            _ => {
                return Err(de::Error::custom("Successful, Result and Errors contradict each other"));
            }
        };
        Ok(Self { outcome, warnings: wire.warnings })
    }
}
