//! Errors that end a command, and the exit statuses of the program.

use std::process::ExitCode;

/// Exit status of a command with an invalid option, as `clap` uses it.
const INVALID_OPTION: u8 = 2;
/// Conventional exit status of a program that was interrupted with Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error that ends the command. It is one line.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An option that is invalid although `clap` accepted it. Ends the command with exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidOption(String);

impl InvalidOption {
    #[expect(clippy::needless_pass_by_value, reason = "it fits `map_err`")]
    pub(crate) fn new(message: impl ToString) -> Self {
        Self(message.to_string())
    }
}

/// Prints the error of a command, and returns the program's exit code.
pub(crate) fn exit_code(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        // The reader of the output, such as `head`, has closed the pipe.
        Err(error) if is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.downcast_ref::<client::Error>().and_then(client::Error::code);
            eprintln!("error: {}{}", with_sources(error.as_ref()), list_advice(code));
            if error.is::<InvalidOption>() { ExitCode::from(INVALID_OPTION) } else { ExitCode::FAILURE }
        }
    }
}

/// Names the command that lists what the API doesn't find. Empty for other errors.
pub(crate) fn list_advice(code: Option<&str>) -> String {
    let command = match code.unwrap_or_default() {
        "SessionNotFound" => "sessions",
        "AgentContextNotFound" => "agents",
        "ConversationContextNotFound" => "conversations",
        "ConnectionNotFound" => "connections",
        "WebhookNotFound" => "webhooks",
        "ModeNotFound" => "modes",
        "KnowledgeNotFound" => "knowledge",
        _ => return String::new(),
    };
    format!(" List yours with `aptix {command} list`.")
}

fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Formats an error and its causes on one line.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // A cause is joined to one line; our own multi-line messages stay as they are.
        let cause_text = cause.to_string().replace('\n', " ");
        // Some messages already include their cause.
        if !line.contains(&cause_text) {
            line.push_str(": ");
            line.push_str(&cause_text);
        }
        source = cause.source();
    }
    line
}
