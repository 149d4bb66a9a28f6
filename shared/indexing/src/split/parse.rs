//! Parses a program within a deadline.
//!
//! The parser checks a deadline after every hundred steps. While it recovers from syntax errors, though, a single step may
//! take minutes, and nothing interrupts it. So each parse has its own thread, which is abandoned in that case.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::chunk::Fallback;
use crate::language::Syntax;

/// The timeout of a parse: a second, and two per MiB, ten times as long as most files take.
const BASE_TIMEOUT: Duration = Duration::from_secs(1);
const BYTE_TIMEOUT: Duration = Duration::from_micros(2);
/// The timeout of a parse with a syntax error. Error recovery takes up to a hundred times as long per byte, and most of
/// it recovers nothing.
const RECOVERY_TIMEOUT: Duration = Duration::from_millis(500);
/// The time after the timeout in which a parser may end by itself.
const GRACE: Duration = Duration::from_millis(500);
/// The maximum number of parsers at a time, abandoned ones included.
const MAX_PARSERS: usize = 16;

/// The number of running parsers.
static PARSERS: AtomicUsize = AtomicUsize::new(0);

/// Parses a text, unless it is too expensive.
pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Tree, Fallback> {
    let slot = Slot::acquire().ok_or(Fallback::Busy)?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let timeout = BASE_TIMEOUT + BYTE_TIMEOUT * u32::try_from(text.len()).unwrap_or(u32::MAX);
    let text = text.to_owned();
    let run = move || {
        let _slot = slot;
        // Nobody waits for the result of an abandoned parser.
        let _ = sender.send(parse_until(&text, syntax, timeout));
    };
    thread::Builder::new().name("parser".to_owned()).spawn(run).map_err(|_| Fallback::Busy)?;
    receiver.recv_timeout(timeout + GRACE).unwrap_or(Err(Fallback::Timeout))
}

fn parse_until(text: &str, syntax: Syntax, timeout: Duration) -> Result<Tree, Fallback> {
    let started = Instant::now();
    let mut fallback = Fallback::NoParser;
    let mut parser = Parser::new();
    let grammar = syntax.grammar().ok_or(fallback)?;
    parser.set_language(&grammar).map_err(|_| fallback)?;
    let mut check = |state: &ParseState| {
        let (timeout, reason) = match state.has_error() {
            true => (RECOVERY_TIMEOUT, Fallback::SyntaxErrors),
            false => (timeout, Fallback::Timeout),
        };
        if started.elapsed() < timeout {
            return ControlFlow::Continue(());
        }
        fallback = reason;
        ControlFlow::Break(())
    };
    let options = ParseOptions::new().progress_callback(&mut check);
    let mut read = |byte: usize, _| text.as_bytes().get(byte..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options)).ok_or(fallback)
}

/// The permission to run a parser, which ends when dropped.
struct Slot;

impl Slot {
    fn acquire() -> Option<Self> {
        let slot = Self;
        PARSERS.fetch_add(1, Ordering::Relaxed).lt(&MAX_PARSERS).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        PARSERS.fetch_sub(1, Ordering::Relaxed);
    }
}
