//! What is made beside a function's start, or when it is first used, whichever comes first.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, LazyLock},
    thread,
};

/// Makes a value, once.
type Make<T> = Box<dyn FnOnce() -> T + Send>;

/// A value that whoever comes first makes; the others wait for it.
pub struct Ahead<T>(Arc<LazyLock<T, Make<T>>>);

impl<T> Ahead<T> {
    /// The value that `make` makes.
    pub(crate) fn new(make: impl FnOnce() -> T + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }

    /// Makes the value, if nobody has.
    pub(crate) fn make(&self) {
        LazyLock::force(&self.0);
    }
}

/// What is there already.
impl<T: Send + 'static> From<T> for Ahead<T> {
    fn from(value: T) -> Self {
        Self::new(|| value)
    }
}

impl<T> Clone for Ahead<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Ahead<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Ahead<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Runs `work` beside whatever comes next. Without a thread what it would have made is made when it is used.
pub(crate) fn beside(work: impl FnOnce() + Send + 'static) {
    _ = thread::Builder::new().name("clients".to_owned()).spawn(work);
}
