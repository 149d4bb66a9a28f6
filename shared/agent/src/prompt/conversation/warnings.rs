//! Warnings about history that the model doesn't get.

/// Warning for the user if the model gets only part of the conversation.
pub(super) const HISTORY_TRUNCATED: &str =
    "Only the newest part of this conversation was sent to the model; older turns were left out.";

/// Warning for the user if the session's own records can't be read.
pub(super) const HISTORY_UNREADABLE: &str =
    "Some earlier turns of this conversation could not be read; the answer was written without them.";

/// The beginning of the warning about files of earlier turns. A request with less room names more of them.
pub(super) const OMITTED_FILES: &str =
    "These files of earlier turns were named to the model, and not repeated: ";

/// Maximum number of files that a warning names.
const MAX_NAMED_FILES: usize = 16;

/// Returns the warning about files of earlier turns that the model doesn't get again, if any.
pub(super) fn omitted_files_warning(files: &[String]) -> Option<String> {
    let named = files.get(..MAX_NAMED_FILES).unwrap_or(files).join(", ");
    let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let warning = format!("{OMITTED_FILES}{named}{more}. Send one again to have it looked at.");
    (!files.is_empty()).then_some(warning)
}
