//! Upload of a hosted console to a bucket.

use aws_sdk_s3::error::DisplayErrorContext;
use aws_sdk_s3::primitives::ByteStream;
use futures::{StreamExt, TryStreamExt, stream};

use super::hosted::HostedFile;
use crate::stores::is_s3_replaced;

/// Files that are sent at the same time.
const CONCURRENT_FILES: usize = 8;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("Can't write {path} to the bucket {bucket}: {reason}")]
pub struct UploadError {
    path: &'static str,
    bucket: String,
    reason: String,
}

/// Writes the files to a bucket, with the AWS credentials of the environment or of a profile. The last file is written after
/// all others.
///
/// # Errors
/// Fails if S3 refuses a file.
pub async fn upload(bucket: &str, files: &[HostedFile]) -> Result<(), UploadError> {
    let config = storage::load_sdk_config().await;
    let config = aws_sdk_s3::config::Builder::from(&config).force_path_style(is_s3_replaced()).build();
    let s3 = aws_sdk_s3::Client::from_conf(config);
    let Some((last, others)) = files.split_last() else { return Ok(()) };
    let sent = stream::iter(others).map(|file| put(&s3, bucket, file)).buffer_unordered(CONCURRENT_FILES);
    sent.try_collect::<()>().await?;
    put(&s3, bucket, last).await
}

async fn put(s3: &aws_sdk_s3::Client, bucket: &str, file: &HostedFile) -> Result<(), UploadError> {
    let request = s3.put_object().bucket(bucket).key(file.path);
    let request = request.content_type(file.content_type).cache_control(file.cache_control);
    let sent = request.body(ByteStream::from(file.bytes.to_vec())).send().await;
    let fault = |error| UploadError {
        path: file.path,
        bucket: bucket.to_owned(),
        reason: DisplayErrorContext(&error).to_string(),
    };
    sent.map(drop).map_err(fault)
}
