"""Whose word counts for a server's certificate."""

import os
import ssl
import sys
from pathlib import Path
from typing import Final

if sys.platform in ("darwin", "win32"):
    import truststore

BUNDLES: Final = (  # where systems keep the authorities they trust, if Python knows no place
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def trusted() -> ssl.SSLContext:
    """What the system trusts, unless SSL_CERT_FILE or SSL_CERT_DIR says otherwise."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        context = ssl.create_default_context(cafile=file, capath=None if file else folder)
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
