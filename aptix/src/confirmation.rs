//! Questions before a command changes something.

use std::io::{IsTerminal, Write};

use crate::failure::{Failure, InvalidOption};

/// Asks on the terminal, and returns true for a yes. Without a terminal, the command fails with this advice.
pub(crate) fn is_confirmed(question: &str, advice: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(InvalidOption::new(format!("There is no terminal to ask. {advice}")).into());
    }
    eprint!("{question} [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
