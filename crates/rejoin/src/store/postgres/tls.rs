//! TLS: the server proves its name to a certificate of the system's, or of a file.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, ErrorKind, Result};
use crate::store::postgres::settings::{Encryption, PgSettings};

/// How a connection is encrypted; none where it is not.
pub(super) fn connector(settings: &PgSettings) -> Result<Option<MakeRustlsConnect>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions = || {
        ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|cause| Error::new(ErrorKind::Unsupported, "set up TLS").because(cause))
    };
    let config = match settings.encryption {
        Encryption::Off => return Ok(None),
        Encryption::Verified => {
            versions()?.with_root_certificates(roots(settings.root_certificates.as_deref())?)
        }
        Encryption::Unverified => {
            versions()?.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(Arc::clone(&provider))))
        }
    };
    Ok(Some(MakeRustlsConnect::new(config.with_no_client_auth())))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match file {
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
        Some(path) => {
            let refuse = || format!("read the certificates in `{}`", path.display());
            let unusable = |cause| Error::new(ErrorKind::Unavailable, refuse()).because(cause);
            for certificate in CertificateDer::pem_file_iter(path).map_err(unusable)? {
                let certificate = certificate.map_err(unusable)?;
                roots.add(certificate).map_err(|cause| Error::invalid(refuse()).because(cause))?;
            }
        }
    }
    if roots.is_empty() {
        let why = "there is no certificate to know the server by; name a file with `sslrootcert`";
        return Err(Error::new(ErrorKind::Unavailable, why));
    }
    Ok(roots)
}

/// Takes any certificate, for `sslmode=require`: the connection is encrypted, to whoever answers.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
