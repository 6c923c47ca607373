"""The same server over TLS, for a client of its own making."""

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx2
import pytest

from hermes.httpd.reach import Tls, certified
from tests.unit.httpd.place import WAIT_S, served


def certificate(folder: Path) -> Tls:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here")
    words = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    words += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return Tls(str(folder / "cert.pem"), str(folder / "key.pem"))


async def test_with_a_certificate_it_speaks_tls_and_nothing_else(tmp_path: Path) -> None:
    tls = certified("platforms.api", certificate(tmp_path))
    trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    async with (
        served(tls=tls) as here,
        httpx2.AsyncClient(verify=trust, timeout=WAIT_S) as http,
    ):
        url = f"https://localhost:{here.port}"
        assert (await http.get(f"{url}/")).text == "here"
        here.house.go.set()
        assert (await http.get(f"{url}/stream")).text == "one,two"
        body = b"x" * 100_000
        assert (await http.post(f"{url}/echo", content=body)).content == body
        assert (await http.post(f"{url}/echo", content=body * 5)).status_code == 413
        assert len((await http.get(f"{url}/large/5000000")).content) == 5_000_000
        with pytest.raises(httpx2.TransportError):
            await http.get(f"http://localhost:{here.port}/")


def test_older_versions_of_tls_are_not_spoken(tmp_path: Path) -> None:
    context = certified("platforms.api", certificate(tmp_path))
    assert context is not None
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
