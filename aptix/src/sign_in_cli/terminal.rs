//! Questions in the terminal. Without one, each answer is a line of standard input.

use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};

use deployment::cognito::Answers;

/// The terminal, or standard input.
pub(super) struct Terminal {
    is_interactive: bool,
}

impl Terminal {
    pub(super) fn new() -> Self {
        Self { is_interactive: io::stdin().is_terminal() }
    }

    /// Asks a question whose answer may be seen.
    pub(super) fn ask(&mut self, question: &str) -> io::Result<String> {
        if self.is_interactive {
            eprint!("{question}");
            io::stderr().flush()?;
        }
        line()
    }

    /// Asks for a secret.
    fn ask_secret(&mut self, question: &str) -> io::Result<String> {
        if self.is_interactive { rpassword::prompt_password(question) } else { line() }
    }
}

impl Answers for Terminal {
    fn password(&mut self) -> io::Result<String> {
        self.ask_secret("Password: ")
    }

    fn new_password(&mut self) -> io::Result<String> {
        loop {
            let password = self.ask_secret("The password is temporary. New password: ")?;
            if !self.is_interactive || self.ask_secret("New password again: ")? == password {
                return Ok(password);
            }
            eprintln!("The passwords differ.");
        }
    }

    fn code(&mut self, question: &str) -> io::Result<String> {
        self.ask(&format!("{question}: "))
    }

    fn show(&mut self, text: &str) {
        eprintln!("{text}");
    }
}

/// Reads a line of standard input.
fn line() -> io::Result<String> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "standard input has ended"));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Opens a page in the browser if a person runs the command. A failure is ignored, because the URL was printed.
pub(super) fn open_browser(url: &str) {
    if !io::stderr().is_terminal() {
        return;
    }
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    _ = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
