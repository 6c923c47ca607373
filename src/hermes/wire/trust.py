"""Make the TLS context: which certificates are trusted."""

import os
import ssl
import sys
from pathlib import Path
from typing import Final

from hermes.wire.faults import Unsendable

if sys.platform in ("darwin", "win32"):
    import truststore

BUNDLES: Final = (  # where systems keep the authorities they trust, if Python knows no place
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def trusted() -> ssl.SSLContext:
    """Return a TLS context with the system's certificates, or those that SSL_CERT_FILE or
    SSL_CERT_DIR names. Raise Unsendable."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        context = _named_certificates(file, folder)
    elif sys.platform in ("darwin", "win32"):
        context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_default_verify_paths()
        bundle = next((name for name in BUNDLES if Path(name).is_file()), None)
        if bundle is not None and not context.cert_store_stats()["x509"]:
            context.load_verify_locations(bundle)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _named_certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=file, capath=None if file else folder)
    except OSError as wrong:  # also what is no certificate
        named = f"SSL_CERT_FILE={file}" if file else f"SSL_CERT_DIR={folder}"
        raise Unsendable(f"{named} has no certificates that can be read") from wrong
