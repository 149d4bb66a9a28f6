//! The OpenAPI document of a connection.

use std::time::Duration;

use agent::connection::Listing;
use bytes::Bytes;
use egress::{Bounds, Guard};
use http::{Request, header};

/// The most bytes of a document.
const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Returns the document of the request, or else the one at the connection's `DocumentUrl`. That is read without the
/// connection's secret, which is for the API alone.
pub(crate) async fn load(guard: &Guard, listing: Listing<'_>) -> Result<String, String> {
    let Listing { connection, document, .. } = listing;
    if let Some(document) = document {
        return Ok(document.to_owned());
    }
    let url = connection.document_url.as_deref();
    let url = url.ok_or("The connection has no DocumentUrl. Set it, or send the Document.")?;
    let request =
        Request::get("/").header(header::ACCEPT, "application/json").header(header::USER_AGENT, "aptix");
    let request = request.body(Bytes::new()).map_err(|error| error.to_string())?;
    let time = Duration::from_secs(connection.timeout_seconds.into());
    let bounds = Bounds { time, body_bytes: MAX_DOCUMENT_BYTES };
    let response = guard.send(url, request, bounds, &|| true).await;
    let response = response.map_err(|failure| format!("The OpenAPI document can't be read: {failure}."))?;
    if !response.status.is_success() {
        let status = response.status.as_u16();
        return Err(format!("The OpenAPI document can't be read: its server answered with status {status}."));
    }
    String::from_utf8(response.body.to_vec()).map_err(|_| "The OpenAPI document isn't UTF-8.".to_owned())
}
