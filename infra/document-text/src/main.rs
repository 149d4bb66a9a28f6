//! Converts a document to Markdown: `document-text EXTENSION < DOCUMENT > MARKDOWN`.
//!
//! Parsers of these formats can hang, panic or take all memory on a hostile document. So they run in a process of their own,
//! which limits its memory and its processor time. The caller limits the document, its text and the elapsed time.
//! The exit status is 0, 1 for a document that isn't valid, 2 for an encrypted one, and anything else past the limits.

mod convert;
mod heading;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use convert::Fault;

/// The memory that a conversion may take, in bytes. Where the system has no such limit, only its time is limited.
const MAX_MEMORY: u64 = 2 << 30;
/// The processor time that a conversion may take, in seconds.
const MAX_CPU_SECONDS: u64 = 30;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // It has no text of the document.
            let _ = writeln!(io::stderr(), "{fault}");
            if matches!(fault, Fault::Encrypted) { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run() -> Result<(), Fault> {
    let extension = std::env::args().nth(1).ok_or(Fault::Usage)?;
    let convert = convert::by_extension(&extension).ok_or(Fault::Usage)?;
    // A system may have neither limit.
    let _ = rlimit::setrlimit(rlimit::Resource::AS, MAX_MEMORY, MAX_MEMORY);
    let _ = rlimit::setrlimit(rlimit::Resource::CPU, MAX_CPU_SECONDS, MAX_CPU_SECONDS);
    let mut document = Vec::new();
    io::stdin().read_to_end(&mut document)?;
    io::stdout().write_all(convert(&document)?.as_bytes())?;
    Ok(())
}
