//! What begins with a slash is for the program, and not for the model.

use std::path::PathBuf;

/// Every command: its name, what follows it, and what it does.
pub(crate) const COMMANDS: [(&str, &str, &str); 9] = [
    ("/new", "", "begin a new session"),
    ("/sessions", "", "list your sessions, newest first"),
    ("/open", "ID or number", "go on with a session of the list"),
    ("/attach", "FILE...", "send files or images with the next instruction"),
    ("/mode", "[NAME]", "show the session's mode, or ask for another one"),
    ("/usage", "", "show the session's tokens and cost"),
    ("/retry", "", "ask the last instruction again"),
    ("/help", "", "show this"),
    ("/quit", "", "leave; so does Ctrl-D"),
];

/// A command that was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    New,
    Sessions,
    Open(String),
    Attach(Vec<PathBuf>),
    Mode(Option<String>),
    Usage,
    Retry,
    Help,
    Quit,
}

impl Command {
    /// None for what is no command. An error says what to type.
    pub(crate) fn parse(line: &str) -> Option<Result<Self, String>> {
        if !line.starts_with('/') {
            return None;
        }
        let (name, rest) = line.trim_end().split_once(char::is_whitespace).unwrap_or((line.trim_end(), ""));
        let rest = rest.trim();
        let alone = |command: Self| {
            if rest.is_empty() { Ok(command) } else { Err(format!("{name} takes nothing after it")) }
        };
        Some(match name {
            "/new" => alone(Self::New),
            "/sessions" => alone(Self::Sessions),
            "/usage" => alone(Self::Usage),
            "/retry" => alone(Self::Retry),
            "/help" => alone(Self::Help),
            "/quit" | "/exit" => alone(Self::Quit),
            "/mode" => Ok(Self::Mode(Some(rest.to_owned()).filter(|name| !name.is_empty()))),
            "/open" if rest.is_empty() => {
                Err("/open takes the id of a session, or its number in /sessions".to_owned())
            }
            "/open" => Ok(Self::Open(rest.to_owned())),
            "/attach" if rest.is_empty() => Err("/attach takes the paths of files".to_owned()),
            "/attach" => Ok(Self::Attach(paths(rest))),
            _ => Err(format!(
                "there is no command {name}; /help lists them, and a space before it sends the line as it is"
            )),
        })
    }
}

/// Paths between spaces; one that holds spaces stands in double quotes.
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

/// What `/help` shows.
pub(crate) fn help() -> String {
    let mut text = String::new();
    for (name, takes, does) in COMMANDS {
        let typed = format!("{name} {takes}");
        text.push_str(&format!("  {typed:<20} {does}\n"));
    }
    text.push_str("\n  A line that ends with \\ goes on in the next one, and so does a fence of ```.\n");
    text.push_str("  Ctrl-C stops the turn; twice, it leaves.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_what_is_none_is_said() {
        assert_eq!(Command::parse("hello /new"), None);
        assert_eq!(Command::parse(" /etc/passwd is a path"), None);
        assert_eq!(Command::parse("/open  3 "), Some(Ok(Command::Open("3".to_owned()))));
        assert_eq!(Command::parse("/mode"), Some(Ok(Command::Mode(None))));
        let paths = ["a.rs", "my file.md", "b.png"].map(PathBuf::from).to_vec();
        assert_eq!(Command::parse("/attach a.rs \"my file.md\" b.png"), Some(Ok(Command::Attach(paths))));
        for line in ["/nothing", "/open", "/attach", "/new now"] {
            assert!(matches!(Command::parse(line), Some(Err(_))), "{line}");
        }
    }

    #[test]
    fn every_command_is_in_the_help() {
        for (name, takes, _) in COMMANDS {
            let line = if takes.is_empty() { name.to_owned() } else { format!("{name} x") };
            assert!(matches!(Command::parse(&line), Some(Ok(_))), "{name}");
        }
    }
}
