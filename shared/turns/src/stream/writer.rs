//! The writing half of a stream.

use crate::checkpoint::{CHECKPOINT_TTL, Checkpoint, MAX_CHECKPOINT_BYTES};
use agent::outcome::answer::{File, embedded, embedded_link};
use protocol::stream_position::{Segment, StreamPosition};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent::{
    model::FunctionCall,
    output_filter::{AnswerFormat, Blob, FilteredText, StreamFilter},
};
use contracts::{
    Timestamp,
    stream::{Delta, Event, Kind, Phase, Reset, ResetReason, Status},
};
use tokio::sync::Notify;

use protocol::{
    id::{AttemptId, TurnKey},
    turn::Turn,
};

/// The most statuses to queue for a reader: enough for the parallel calls of a reply and the statuses around them.
const MAX_STATUSES: usize = 96;

/// The answer so far.
#[derive(Debug)]
pub struct Writer {
    state: Mutex<State>,
    changed: Notify,
    embedded: Notify,
}

#[derive(Debug)]
struct State {
    /// Set if the client wants a stream.
    streamed: bool,
    /// The number of earlier suspensions of the turn.
    round: u32,
    /// The position at which the text begins. It is the segment's start, unless another process wrote the text before
    /// it.
    text_start: Option<StreamPosition>,
    /// The reason for the reset that began the segment, if one did.
    reset: Option<ResetReason>,
    /// Statuses that readers may not have yet, oldest first.
    statuses: VecDeque<QueuedStatus>,
    /// The total number of statuses.
    status_count: u64,
    /// The other process's attempt that was announced last.
    announced_attempt: Option<AttemptId>,
    /// The number of UTF-16 code units of the segment before the text.
    index: u64,
    /// The text of the segment that is final, from there on.
    text: String,
    /// Linked files that aren't stored yet. The text is visible up to the first of them.
    unstored: VecDeque<PendingFile>,
    /// The total number of linked files.
    files: u64,
    /// The filter that holds back the rest. Boxed, since it is large and many writers are silent.
    filter: Box<StreamFilter>,
    /// The format of the turn's answer.
    format: AnswerFormat,
    /// The position up to which checkpoints were read, or up to which the client has the stream.
    last_read: Option<StreamPosition>,
}

#[derive(Debug)]
struct PendingFile {
    number: u64,
    /// The length of the text before the piece that links to it.
    before: usize,
    file: File,
}

/// A status with its place in the stream.
#[derive(Debug)]
struct QueuedStatus {
    number: u64,
    /// The end of the text at that time.
    at: Option<StreamPosition>,
    status: Status,
}

/// A reader's position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    /// The position of the last event it got.
    pub(super) position: Option<StreamPosition>,
    /// The number of UTF-16 code units of the segment that it got, if known.
    pub(super) index: Option<u64>,
    /// The number of statuses that it got.
    statuses_seen: u64,
}

impl Cursor {
    /// Creates a cursor after a position.
    pub(super) fn after(position: Option<StreamPosition>) -> Self {
        Self { position, index: None, statuses_seen: 0 }
    }

    fn advanced(self, position: StreamPosition, index: u64) -> Self {
        Self { position: Some(position), index: Some(index), ..self }
    }
}

impl Writer {
    pub(super) fn new(streamed: bool, seen: Option<StreamPosition>) -> Self {
        let state = State {
            streamed,
            round: 0,
            text_start: None,
            reset: None,
            statuses: VecDeque::new(),
            status_count: 0,
            announced_attempt: None,
            index: 0,
            text: String::new(),
            unstored: VecDeque::new(),
            files: 0,
            filter: Box::default(),
            format: AnswerFormat::default(),
            last_read: seen,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), embedded: Notify::new() }
    }

    /// Creates a writer for a client that doesn't want a stream.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(false, None)
    }

    /// True if the client wants a stream.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.state().streamed
    }

    /// Streams a tool continuation if its turn was streamed.
    pub fn inherit_streaming(&self, turn: &Turn) {
        self.state().streamed = turn.streamed;
    }

    /// Sets the number of earlier suspensions. Every flow calls this once it has read the turn.
    pub fn set_round(&self, turn: &Turn) {
        self.state().round = turn.round();
    }

    /// Sets the format of the answer, before the attempt begins.
    pub fn set_format(&self, format: AnswerFormat) {
        self.state().format = format;
    }

    /// Begins an attempt of this process.
    pub fn begin(&self, turn: &Turn) {
        let mut state = self.state();
        state.round = turn.round();
        state.start(turn.first_segment());
        drop(state);
        self.changed.notify_one();
    }

    /// Announces a phase of the turn's work on a model reply.
    pub fn status(&self, turn: &Turn, round: u32, phase: Phase) {
        self.push_status(Status::new(phase, attempt(turn), Some(round)));
    }

    /// Announces a server tool that runs for this call.
    pub fn tool(&self, turn: &Turn, round: u32, call: &FunctionCall) {
        let (tool_name, tool_call_id) = (Some(call.name.clone()), Some(call.call_id.clone()));
        let status = Status::new(Phase::Tool, attempt(turn), Some(round));
        self.push_status(Status { tool_name, tool_call_id, ..status });
    }

    /// Announces a retry of the model call after a pause.
    pub fn retrying(&self, turn: &Turn, round: u32, pause: Duration) {
        let status = Status::new(Phase::Retrying, attempt(turn), Some(round));
        let seconds = u64::try_from(pause.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
        self.push_status(Status { retry_after_seconds: Some(seconds), ..status });
    }

    /// Announces that another process works on the turn. Done once per attempt.
    pub fn following(&self, turn: &Turn) {
        let is_new_attempt = self
            .state()
            .announced_attempt
            .replace(turn.attempt.clone())
            .is_none_or(|known| known != turn.attempt);
        if is_new_attempt {
            self.push_status(Status::new(Phase::Working, attempt(turn), None));
        }
    }

    fn push_status(&self, status: Status) {
        let mut state = self.state();
        if !state.streamed {
            return;
        }
        state.status_count += 1;
        let queued = QueuedStatus { number: state.status_count, at: state.end(), status };
        state.statuses.push_back(queued);
        if state.statuses.len() > MAX_STATUSES {
            state.statuses.pop_front();
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Appends text from the model.
    pub fn push_text(&self, turn: &TurnKey, piece: &str) {
        let mut state = self.state();
        if !state.streamed {
            return;
        }
        let url_of = |blob: &Blob| embedded_link(turn, blob);
        let FilteredText { text, blobs } = state.filter.push(piece, url_of);
        if text.is_empty() {
            return;
        }
        let before = state.text.len();
        for file in embedded(turn, blobs) {
            state.files += 1;
            let number = state.files;
            state.unstored.push_back(PendingFile { number, before, file });
        }
        state.text.push_str(&text);
        let waits = !state.unstored.is_empty();
        drop(state);
        if waits { self.embedded.notify_one() } else { self.changed.notify_one() }
    }

    /// Waits for the next linked file that has to be stored.
    pub async fn unstored(&self) -> (u64, File) {
        loop {
            if let Some(next) = self.next_unstored() {
                return next;
            }
            self.embedded.notified().await;
        }
    }

    pub(super) fn next_unstored(&self) -> Option<(u64, File)> {
        self.state().unstored.front().map(|next| (next.number, next.file.clone()))
    }

    /// Marks the file with this number as stored, which makes its link visible.
    pub fn mark_stored(&self, number: u64) {
        let mut state = self.state();
        // A reset may have discarded the text and its files.
        if state.unstored.front().is_some_and(|next| next.number == number) {
            state.unstored.pop_front();
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Discards the text, which turned out not to be the answer.
    pub fn reset(&self, reason: ResetReason) {
        let mut state = self.state();
        let Some(text_start) = state.text_start else { return };
        state.start(text_start.segment.next());
        state.reset = Some(reason);
        drop(state);
        self.changed.notify_one();
    }

    /// Appends text that another process wrote.
    pub fn relay(&self, checkpoint: &Checkpoint) {
        let mut state = self.state();
        let text_start = checkpoint.start();
        match state.end() {
            Some(end) if end == text_start => state.text.push_str(&checkpoint.text),
            // After a gap or in a later segment. The reader decides what is new.
            Some(end) if end >= checkpoint.end => {}
            _ => {
                state.start(text_start.segment);
                (state.text_start, state.reset) = (Some(text_start), checkpoint.reset);
                state.index = checkpoint.index;
                state.text.push_str(&checkpoint.text);
            }
        }
        state.last_read = Some(checkpoint.end);
        drop(state);
        self.changed.notify_one();
    }

    /// Returns the position after which to read checkpoints.
    #[must_use]
    pub fn last_position(&self) -> Option<StreamPosition> {
        self.state().last_read
    }

    /// Returns the current segment.
    #[must_use]
    pub fn segment(&self) -> Option<Segment> {
        let state = self.state();
        state.text_start.filter(|_| state.streamed).map(|text_start| text_start.segment)
    }

    /// Returns the number of earlier suspensions of the turn.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.state().round
    }

    /// Returns the next text to make durable after `saved`, if there is any.
    #[must_use]
    pub fn checkpoint(
        &self,
        turn: &TurnKey,
        saved: Option<StreamPosition>,
        now: Timestamp,
    ) -> Option<Checkpoint> {
        let state = self.state();
        let text_start = state.text_start?;
        let from = saved.filter(|saved| saved.segment == text_start.segment).unwrap_or(text_start);
        let skipped = from.offset.checked_sub(text_start.offset)?;
        let (before, new) = (state.text.get(..skipped)?, state.visible().get(skipped..)?);
        let text = new.get(..new.floor_char_boundary(MAX_CHECKPOINT_BYTES))?;
        (!text.is_empty()).then(|| Checkpoint {
            key: turn.clone(),
            end: StreamPosition { segment: text_start.segment, offset: from.offset + text.len() },
            index: state.index + utf16_length(before),
            text: text.to_owned(),
            reset: state.reset,
            expires: now.after(CHECKPOINT_TTL),
        })
    }

    /// Waits for the next change.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the next event for a reader and advances its cursor.
    pub(super) fn next(&self, cursor: &mut Cursor) -> Option<Event> {
        let state = self.state();
        if !state.streamed {
            return None;
        }
        let due = state.statuses.iter().find(|queued| queued.number > cursor.statuses_seen);
        // A status about later text waits for that text, unless none is visible.
        let reader_at =
            cursor.position.or(state.text_start.map(|text_start| StreamPosition::start(text_start.segment)));
        let text = match due {
            Some(queued) if queued.at <= reader_at => None,
            _ => state.next_text(cursor),
        };
        text.or_else(|| {
            let queued = due?;
            cursor.statuses_seen = queued.number;
            Some(Event { id: None, kind: Kind::Status(queued.status.clone()) })
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the next text, or the reset before it, and advances the cursor.
    fn next_text(&self, cursor: &mut Cursor) -> Option<Event> {
        let text_start = self.text_start?;
        let start = StreamPosition::start(text_start.segment);
        match cursor.position {
            Some(position) if position.segment == text_start.segment => {}
            // The text of an older attempt: the reader is further.
            Some(position) if position > start => return None,
            Some(position) if position.has_text() => {
                let is_ours = position.segment.is_of_same_attempt(text_start.segment);
                let reason = if is_ours { self.reset } else { Some(ResetReason::TakenOver) };
                *cursor = cursor.advanced(start, 0);
                return Some(Event { id: Some(start.event_id()), kind: Kind::Reset(Reset { reason }) });
            }
            _ => *cursor = cursor.advanced(start, 0),
        }
        let offset = cursor.position.map_or(0, |position| position.offset);
        let skipped = offset.checked_sub(text_start.offset)?;
        let (before, text) = (self.text.get(..skipped)?, self.visible().get(skipped..)?);
        if text.is_empty() {
            return None;
        }
        let index = cursor.index.unwrap_or_else(|| self.index + utf16_length(before));
        let end = StreamPosition { segment: text_start.segment, offset: offset + text.len() };
        *cursor = cursor.advanced(end, index + utf16_length(text));
        Some(Event { id: Some(end.event_id()), kind: Kind::Delta(Delta { index, text: text.to_owned() }) })
    }

    fn start(&mut self, segment: Segment) {
        self.text_start = Some(StreamPosition::start(segment));
        self.reset = None;
        self.index = 0;
        self.text.clear();
        self.unstored.clear();
        *self.filter = StreamFilter::new(self.format);
    }

    /// Returns the text up to the first link to a file that isn't stored yet.
    fn visible(&self) -> &str {
        let until = self.unstored.front().map_or(self.text.len(), |next| next.before);
        self.text.get(..until).unwrap_or_default()
    }

    fn end(&self) -> Option<StreamPosition> {
        let text_start = self.text_start?;
        Some(StreamPosition { segment: text_start.segment, offset: text_start.offset + self.text.len() })
    }
}

/// Returns the number of a turn's attempt, from 1.
fn attempt(turn: &Turn) -> u32 {
    turn.takeovers.saturating_add(1)
}

/// Returns the length of a text in UTF-16 code units, which browsers use.
pub(super) fn utf16_length(text: &str) -> u64 {
    u64::try_from(text.encode_utf16().count()).unwrap_or(u64::MAX)
}
