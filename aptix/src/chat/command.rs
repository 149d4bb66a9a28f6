//! Slash commands, which are for the program and not for the model.

use std::path::PathBuf;

/// Every command: name, argument and description.
pub(crate) const COMMANDS: [(&str, &str, &str); 10] = [
    ("/new", "", "start a new session"),
    ("/sessions", "", "list your sessions, newest first"),
    ("/open", "ID or number", "continue a session of the list"),
    ("/attach", "FILE...", "attach files or images to the next instruction"),
    ("/mode", "[NAME]", "show the session's mode, or request another one"),
    ("/visibility", "[NAME]", "show who sees the session, or set it to org or participants"),
    ("/usage", "", "show the session's tokens and cost"),
    ("/retry", "", "retry the last instruction"),
    ("/help", "", "show this help"),
    ("/quit", "", "quit (or press Ctrl-D)"),
];

/// A slash command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    New,
    Sessions,
    Open(String),
    Attach(Vec<PathBuf>),
    Mode(Option<String>),
    Visibility(Option<String>),
    Usage,
    Retry,
    Help,
    Quit,
}

impl Command {
    /// Parses a line. Returns `None` if it is not a command. The error explains what to type.
    pub(crate) fn parse(line: &str) -> Option<Result<Self, String>> {
        if !line.starts_with('/') {
            return None;
        }
        let (name, rest) = line.trim_end().split_once(char::is_whitespace).unwrap_or((line.trim_end(), ""));
        let rest = rest.trim();
        let without_argument = |command: Self| {
            if rest.is_empty() { Ok(command) } else { Err(format!("{name} takes no argument.")) }
        };
        Some(match name {
            "/new" => without_argument(Self::New),
            "/sessions" => without_argument(Self::Sessions),
            "/usage" => without_argument(Self::Usage),
            "/retry" => without_argument(Self::Retry),
            "/help" => without_argument(Self::Help),
            "/quit" | "/exit" => without_argument(Self::Quit),
            "/mode" => Ok(Self::Mode(Some(rest.to_owned()).filter(|name| !name.is_empty()))),
            "/visibility" => Ok(Self::Visibility(Some(rest.to_owned()).filter(|name| !name.is_empty()))),
            "/open" if rest.is_empty() => {
                Err("/open needs a session id, or a number from /sessions.".to_owned())
            }
            "/open" => Ok(Self::Open(rest.to_owned())),
            "/attach" if rest.is_empty() => Err("/attach needs file paths.".to_owned()),
            "/attach" => Ok(Self::Attach(paths(rest))),
            _ => Err(format!(
                "Unknown command {name}. Type /help for a list, or start the line with a space to send it as text."
            )),
        })
    }
}

/// Splits paths at spaces. A path with spaces is enclosed in double quotes.
fn paths(text: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (position, part) in text.split('"').enumerate() {
        if position % 2 == 1 {
            paths.push(PathBuf::from(part));
        } else {
            paths.extend(part.split_whitespace().map(PathBuf::from));
        }
    }
    paths
}

/// Returns the text of `/help`.
pub(crate) fn help() -> String {
    let mut text = String::new();
    for (name, takes, does) in COMMANDS {
        let typed = format!("{name} {takes}");
        text.push_str(&format!("  {typed:<20} {does}\n"));
    }
    text.push_str(
        "\n  End a line with \\ to continue it on the next one. An open ``` fence continues too.\n",
    );
    text.push_str("  Press Ctrl-C to stop a turn, and twice to quit.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_parse_and_invalid_ones_are_reported() {
        assert_eq!(Command::parse("hello /new"), None);
        assert_eq!(Command::parse(" /etc/passwd is a path"), None);
        assert_eq!(Command::parse("/open  3 "), Some(Ok(Command::Open("3".to_owned()))));
        assert_eq!(Command::parse("/mode"), Some(Ok(Command::Mode(None))));
        let private = Command::Visibility(Some("participants".to_owned()));
        assert_eq!(Command::parse("/visibility participants"), Some(Ok(private)));
        let paths = ["a.rs", "my file.md", "b.png"].map(PathBuf::from).to_vec();
        assert_eq!(Command::parse("/attach a.rs \"my file.md\" b.png"), Some(Ok(Command::Attach(paths))));
        for line in ["/nothing", "/open", "/attach", "/new now"] {
            assert!(matches!(Command::parse(line), Some(Err(_))), "{line}");
        }
    }

    #[test]
    fn help_lists_every_command() {
        for (name, takes, _) in COMMANDS {
            let line = if takes.is_empty() { name.to_owned() } else { format!("{name} x") };
            assert!(matches!(Command::parse(&line), Some(Ok(_))), "{name}");
        }
    }
}
