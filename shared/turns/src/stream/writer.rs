//! The writing half of a stream.

use crate::checkpoint::{CHECKPOINT_TTL, Checkpoint, MAX_CHECKPOINT_BYTES};
use agent::outcome::answer::{File, embedded, embedded_link};
use protocol::stream_position::{Segment, StreamPosition};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::passage::{Cursor, Passage, utf16_length};
use agent::{
    model::FunctionCall,
    output_filter::{AnswerFormat, Blob, FilteredText, StreamFilter},
};
use contracts::{
    Timestamp,
    stream::{Event, Kind, Phase, Reasoning, ResetReason, Status},
};
use tokio::sync::Notify;

use protocol::{
    id::{AttemptId, TurnKey},
    turn::Turn,
};

/// The most notes to queue for a reader: enough for the parallel calls of a reply and the statuses around them.
const MAX_NOTES: usize = 96;

/// The most bytes of reasoning to queue for a reader.
const MAX_REASONING_BYTES: usize = 512 << 10;

/// The most earlier segments to keep for a slow reader.
const MAX_EARLIER: usize = 8;

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
    /// Segments before the current one that the reader may not have passed, oldest first. They have text if a tool round
    /// ended them.
    earlier: VecDeque<Passage>,
    /// The current segment.
    current: Option<Passage>,
    /// Notes that readers may not have yet, oldest first.
    notes: VecDeque<QueuedNote>,
    /// The total number of notes.
    note_count: u64,
    /// The other process's attempt that was announced last.
    announced_attempt: Option<AttemptId>,
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

/// An event that is no part of the answer, so it has no position. It is not replayed.
#[derive(Debug)]
enum Note {
    Status(Status),
    Reasoning(Reasoning),
}

/// A note with its place in the stream.
#[derive(Debug)]
struct QueuedNote {
    number: u64,
    /// The end of the text at that time.
    at: Option<StreamPosition>,
    note: Note,
}

impl QueuedNote {
    fn reasoning(&self) -> Option<&Reasoning> {
        match &self.note {
            Note::Reasoning(reasoning) => Some(reasoning),
            Note::Status(_) => None,
        }
    }

    fn event(&self) -> Event {
        let kind = match &self.note {
            Note::Status(status) => Kind::Status(status.clone()),
            Note::Reasoning(reasoning) => Kind::Reasoning(reasoning.clone()),
        };
        Event { id: None, kind }
    }
}

impl Writer {
    pub(super) fn new(streamed: bool, seen: Option<StreamPosition>) -> Self {
        let state = State {
            streamed,
            round: 0,
            earlier: VecDeque::new(),
            current: None,
            notes: VecDeque::new(),
            note_count: 0,
            announced_attempt: None,
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
        state.begin(Passage::new(turn.first_segment(), None));
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

    /// Announces the progress of a server tool that runs for this call.
    pub fn tool_progress(&self, turn: &Turn, round: u32, call: &FunctionCall, progress: String) {
        let (tool_name, tool_call_id) = (Some(call.name.clone()), Some(call.call_id.clone()));
        let status = Status::new(Phase::Tool, attempt(turn), Some(round));
        self.push_status(Status { tool_name, tool_call_id, tool_progress: Some(progress), ..status });
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
        self.push_note(Note::Status(status));
    }

    /// Appends a piece of the model's reasoning. A slow reader gets the newest 512 KiB.
    pub fn push_reasoning(&self, piece: Reasoning) {
        self.push_note(Note::Reasoning(piece));
    }

    fn push_note(&self, note: Note) {
        let mut state = self.state();
        if !state.streamed {
            return;
        }
        state.push_note(note);
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
        let Some(before) = state.current.as_ref().map(|current| current.text.len()) else { return };
        if text.is_empty() {
            return;
        }
        for file in embedded(turn, blobs) {
            state.files += 1;
            let number = state.files;
            state.unstored.push_back(PendingFile { number, before, file });
        }
        state.current.iter_mut().for_each(|current| current.text.push_str(&text));
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

    /// Ends the segment, whose text turned out not to be the answer. A reader gets the rest of a text before tool calls.
    pub fn reset(&self, reason: ResetReason) {
        let mut state = self.state();
        let visible = state.visible();
        let Some(mut ended) = state.current.take() else { return };
        let has_all = visible == ended.text.len();
        ended.text.truncate(if reason == ResetReason::Tools { visible } else { 0 });
        if reason == ResetReason::Tools && has_all {
            ended.push_end(&state.filter.finish(|_| String::new()));
        }
        let next = Passage::new(ended.segment().next(), Some(reason));
        state.earlier.push_back(ended);
        if state.earlier.len() > MAX_EARLIER {
            state.earlier.pop_front();
        }
        state.start(next);
        drop(state);
        self.changed.notify_one();
    }

    /// Appends text that another process wrote.
    pub fn relay(&self, checkpoint: &Checkpoint) {
        let mut state = self.state();
        let text_start = checkpoint.start();
        match &mut state.current {
            Some(current) if current.end() == text_start => current.text.push_str(&checkpoint.text),
            // After a gap or in a later segment. The reader decides what is new.
            Some(current) if current.end() >= checkpoint.end => {}
            _ => {
                let (reset, index) = (checkpoint.reset, checkpoint.index);
                state.begin(Passage { start: text_start, reset, index, text: checkpoint.text.clone() });
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
        state.current.as_ref().filter(|_| state.streamed).map(Passage::segment)
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
        let current = state.current.as_ref()?;
        let from = saved.filter(|saved| saved.segment == current.segment()).unwrap_or(current.start);
        let skipped = from.offset.checked_sub(current.start.offset)?;
        let (before, new) = (current.text.get(..skipped)?, current.text.get(skipped..state.visible())?);
        let text = new.get(..new.floor_char_boundary(MAX_CHECKPOINT_BYTES))?;
        (!text.is_empty()).then(|| Checkpoint {
            key: turn.clone(),
            end: StreamPosition { offset: from.offset + text.len(), ..from },
            index: current.index + utf16_length(before),
            text: text.to_owned(),
            reset: current.reset,
            spent: None,
            expires: now.after(CHECKPOINT_TTL),
        })
    }

    /// Waits for the next change.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the next event for a reader and advances its cursor.
    pub(super) fn next(&self, cursor: &mut Cursor) -> Option<Event> {
        let mut state = self.state();
        if !state.streamed {
            return None;
        }
        state.forget_passed(cursor);
        let next = state.next(cursor);
        // Reasoning is appended to a note that the reader doesn't have.
        state.notes.retain(|queued| queued.number > cursor.notes_seen);
        next
    }

    /// Returns the events before the segment that became the answer, and advances the cursor.
    pub(super) fn before_answer(&self, answer: Option<Segment>, cursor: &mut Cursor) -> Vec<Event> {
        let state = self.state();
        let mut events = Vec::new();
        if cursor.position.is_some() || !state.earlier.is_empty() {
            let is_at_answer = |cursor: &Cursor| {
                answer.is_some() && cursor.position.map(|position| position.segment) == answer
            };
            events
                .extend(std::iter::from_fn(|| (!is_at_answer(cursor)).then(|| state.next(cursor)).flatten()));
        }
        let left = state.notes.iter().filter(|queued| queued.number > cursor.notes_seen);
        events.extend(left.filter(|queued| queued.reasoning().is_some()).map(QueuedNote::event));
        events
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Queues a note, or extends the last one. Drops the oldest ones beyond the limits.
    fn push_note(&mut self, note: Note) {
        let (at, last) = (self.end(), self.notes.back_mut());
        if let (Note::Reasoning(piece), Some(QueuedNote { note: Note::Reasoning(last), at: place, .. })) =
            (&note, last)
            && piece.index > 0
            && *place == at
        {
            last.text.push_str(&piece.text);
        } else {
            self.note_count += 1;
            self.notes.push_back(QueuedNote { number: self.note_count, at, note });
        }
        let size = |queued: &QueuedNote| queued.reasoning().map_or(0, |reasoning| reasoning.text.len());
        let is_full = |notes: &VecDeque<QueuedNote>| {
            notes.len() > MAX_NOTES || notes.iter().map(size).sum::<usize>() > MAX_REASONING_BYTES
        };
        while is_full(&self.notes) {
            self.notes.pop_front();
        }
    }

    /// Returns the next event for a reader and advances its cursor.
    fn next(&self, cursor: &mut Cursor) -> Option<Event> {
        let due = self.notes.iter().find(|queued| queued.number > cursor.notes_seen);
        // A note about later text waits for that text, unless none is visible.
        let first = || self.passages().next().map(|first| StreamPosition::start(first.segment()));
        let reader_at = cursor.position.or_else(first);
        let text = match due {
            Some(queued) if queued.at <= reader_at => None,
            _ => self.next_text(cursor),
        };
        text.or_else(|| {
            let queued = due?;
            cursor.notes_seen = queued.number;
            Some(queued.event())
        })
    }

    /// Returns the next text, or the reset before it, and advances the cursor.
    fn next_text(&self, cursor: &mut Cursor) -> Option<Event> {
        let earlier = self.earlier.iter().find_map(|passage| passage.next(passage.text.len(), cursor));
        earlier.or_else(|| self.current.as_ref()?.next(self.visible(), cursor))
    }

    fn passages(&self) -> impl Iterator<Item = &Passage> {
        self.earlier.iter().chain(&self.current)
    }

    /// Removes the segments that the reader has passed.
    fn forget_passed(&mut self, cursor: &Cursor) {
        let Some(StreamPosition { segment, .. }) = cursor.position else { return };
        while self.earlier.pop_front_if(|first| first.segment() < segment).is_some() {}
    }

    /// Begins the text of an attempt.
    fn begin(&mut self, first: Passage) {
        self.earlier.clear();
        self.start(first);
    }

    fn start(&mut self, passage: Passage) {
        self.current = Some(passage);
        self.unstored.clear();
        *self.filter = StreamFilter::new(self.format);
    }

    /// Returns the length of the text up to the first link to a file that isn't stored yet.
    fn visible(&self) -> usize {
        let text = self.current.as_ref().map_or(0, |current| current.text.len());
        self.unstored.front().map_or(text, |next| next.before)
    }

    fn end(&self) -> Option<StreamPosition> {
        self.current.as_ref().map(Passage::end)
    }
}

/// Returns the number of a turn's attempt, from 1.
fn attempt(turn: &Turn) -> u32 {
    turn.takeovers.saturating_add(1)
}
