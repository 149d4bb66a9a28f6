//! The TCP connection of a client: acknowledges received data immediately, and reports how long the client reads
//! nothing.
//!
//! The functions' runtime leaves Nagle's algorithm on: a small chunk of a streamed reply waits until the previous
//! chunk is acknowledged, and Linux delays acknowledgements by up to 40 ms. Acknowledging immediately keeps that
//! delay out of measurements.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::connections::Connection;

/// A connection that acknowledges immediately, where the operating system supports it.
pub(super) struct ClientStream {
    pub(super) stream: TcpStream,
    pub(super) connection: Arc<Connection>,
}

impl ClientStream {
    fn record_write(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Pending => self.connection.wait_for_reader(),
            Poll::Ready(Ok(bytes)) => self.connection.client_read(*bytes),
            Poll::Ready(Err(_)) => {}
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        // The kernel resets the option after a while, so it is set on every read. A failure only costs time.
        #[cfg(target_os = "linux")]
        let _ = socket2::SockRef::from(&self.stream).set_tcp_quickack(true);
        Poll::Ready(read)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.record_write(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.record_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called once everything is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.client_has_read_all();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
