//! The TLS of every client that is built here: one configuration, which trusts whom the system trusts.
//!
//! Whom that is, is read once: when the first certificate has to be verified, or beside a function's start. It is some
//! hundred certificates and takes milliseconds, for which no start has to wait, and which a client of a plain address
//! never needs.

use std::{
    sync::{Arc, LazyLock, Once},
    thread,
};

pub use rustls::{ClientConfig, Error};
use rustls::{
    DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;

static PROVIDER: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| aws_lc_rs::default_provider().into());

static SYSTEM: LazyLock<Result<Verifier, Error>> = LazyLock::new(|| Verifier::new(Arc::clone(&PROVIDER)));

/// The configuration of a client. It has read nothing yet.
///
/// # Errors
/// When the primitives know no version of TLS.
pub fn client_config() -> Result<ClientConfig, Error> {
    let config = ClientConfig::builder_with_provider(Arc::clone(&PROVIDER));
    let config = config.with_safe_default_protocol_versions()?;
    // The danger is a verifier that verifies nothing; this one is the system's.
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(System)).with_no_client_auth())
}

/// Begins to read whom the system trusts, beside whatever comes next.
pub fn read_ahead() {
    static BEGUN: Once = Once::new();
    let read = || _ = LazyLock::force(&SYSTEM);
    // Without a thread it is read when it is needed.
    BEGUN.call_once(|| _ = thread::Builder::new().name("certificates".to_owned()).spawn(read));
}

/// The system's verifier.
#[derive(Debug)]
struct System;

impl System {
    fn verifier() -> Result<&'static Verifier, Error> {
        SYSTEM.as_ref().map_err(Clone::clone)
    }
}

impl ServerCertVerifier for System {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Self::verifier()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::verifier()?.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::verifier()?.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}
