//! Values that are built in the background of a function's start, or on first use.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, LazyLock},
    thread,
};

/// Builds the value, once.
type Init<T> = Box<dyn FnOnce() -> T + Send>;

/// A value that the first user builds. Others wait for it.
pub struct Prewarmed<T>(Arc<LazyLock<T, Init<T>>>);

impl<T> Prewarmed<T> {
    /// Creates a value that `init` builds.
    pub(crate) fn new(init: impl FnOnce() -> T + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(init))))
    }

    /// Builds the value, unless that has happened.
    pub(crate) fn warm(&self) {
        LazyLock::force(&self.0);
    }
}

/// Wraps a value that already exists.
impl<T: Send + 'static> From<T> for Prewarmed<T> {
    fn from(value: T) -> Self {
        Self::new(|| value)
    }
}

impl<T> Clone for Prewarmed<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Prewarmed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Prewarmed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Runs `work` on a background thread. If the thread can't be started, the values are built on first use.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) {
    _ = thread::Builder::new().name("clients".to_owned()).spawn(work);
}
