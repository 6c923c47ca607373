"""`platforms.api` of the settings. Without a key the platform does not start."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hermes.core.errors import Misconfigured
from hermes.httpd.reach import KEYS as REACH_KEYS
from hermes.httpd.reach import NetworkReach, demand_strong, reach_of
from hermes.text.similar import likely

SECTION: Final = "platforms.api"
SECRET: Final = "HERMES_API_KEY"  # noqa: S105 (the name of one)
PORT_MAX: Final = 65_535
KEY_CHARS_MAX: Final = 4_096
KEYS: Final = ("enabled", "key", "host", "port", *REACH_KEYS)


class ApiSettings(Struct, frozen=True, kw_only=True):
    """The section as a value. `port` 0 takes a free port."""

    key: str
    host: str = "127.0.0.1"
    port: int = 8642
    reach: NetworkReach = NetworkReach(section=SECTION)

    def __repr__(self) -> str:
        return f"ApiSettings({self.host}:{self.port})"


def api_settings(raw: Mapping[str, object], *, secrets: Mapping[str, str]) -> ApiSettings:
    """Read the section. Raise Misconfigured, naming the setting and the fix."""
    for name in raw:
        if name not in KEYS:
            near = likely(str(name), KEYS)
            fix = (
                f"Did you mean {SECTION}.{near[0]}?"
                if near
                else f"Known settings: {', '.join(KEYS)}"
            )
            raise Misconfigured(f"{SECTION}.{name}", "there is no such setting", fix)
    enabled = raw.get("enabled")
    if enabled is not None and not isinstance(enabled, bool):
        raise Misconfigured(f"{SECTION}.enabled", "is not true or false", "Write true or false")
    key, host = _key(raw, secrets), _host(raw)
    return ApiSettings(key=key, host=host, port=_port(raw), reach=reach_of(SECTION, raw, host))


def key_now(raw: Mapping[str, object], *, secrets: Mapping[str, str]) -> str:
    """Return the current key; empty when none can be used."""
    try:
        return _key(raw, secrets)
    except Misconfigured:
        return ""


def _key(raw: Mapping[str, object], secrets: Mapping[str, str]) -> str:
    given = raw.get("key")
    if given is not None and not isinstance(given, str):
        raise Misconfigured(f"{SECTION}.key", "its value is not text", 'Put it in quotes: key: "…"')
    key = (given or secrets.get(SECRET, "")).strip()
    if not key:
        problem = "is required: without a key, anyone could use the API"
        fix = f"Run: hermes config set {SECRET} - and give it a long random text"
        raise Misconfigured(f"{SECTION}.key", problem, fix)
    if len(key) > KEY_CHARS_MAX or not key.isascii() or not key.isprintable() or " " in key:
        problem = "contains what no header can carry"
        fix = f"Use up to {KEY_CHARS_MAX:,} letters, digits and signs without spaces"
        raise Misconfigured(f"{SECTION}.key", problem, fix)
    demand_strong(
        f"{SECTION}.key", key, f"Run: openssl rand -hex 32 | hermes config set {SECRET} -"
    )
    return key


def _host(raw: Mapping[str, object]) -> str:
    host = raw.get("host")
    if host is None:
        return ApiSettings(key="").host
    if not isinstance(host, str) or not host.strip():
        fix = f"Run: hermes config set {SECTION}.host 127.0.0.1"
        raise Misconfigured(f"{SECTION}.host", "is not a host name or an address", fix)
    return host.strip()


def _port(raw: Mapping[str, object]) -> int:
    port = raw.get("port")
    if port is None:
        return ApiSettings(key="").port
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= PORT_MAX:
        fix = f"Run: hermes config set {SECTION}.port 8642"
        raise Misconfigured(f"{SECTION}.port", f"is not a whole number up to {PORT_MAX}", fix)
    return port
