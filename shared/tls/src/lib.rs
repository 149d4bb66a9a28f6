//! The TLS configuration of all HTTP clients, which trusts the system's root certificates.
//!
//! The roots are loaded once: on the first verification, or in the background at start-up. There are some hundred, and
//! loading takes milliseconds. Start-up doesn't wait for it, and a client of a plain HTTP address never needs it.

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

/// Returns the configuration of a client, without loading the roots.
///
/// # Errors
/// If the crypto provider supports no version of TLS.
pub fn client_config() -> Result<ClientConfig, Error> {
    let config = ClientConfig::builder_with_provider(Arc::clone(&PROVIDER));
    let config = config.with_safe_default_protocol_versions()?;
    // `dangerous` guards against verifiers that accept everything. This one is the system's.
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(System)).with_no_client_auth())
}

/// Loads the system's root certificates in the background.
pub fn preload_roots() {
    static STARTED: Once = Once::new();
    let load = || _ = LazyLock::force(&SYSTEM);
    // If no thread can be started, the first verification loads them.
    STARTED.call_once(|| _ = thread::Builder::new().name("certificates".to_owned()).spawn(load));
}

/// The system's certificate verifier.
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
