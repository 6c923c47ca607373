"""Links of a model that has read foreign content, as text: no platform fetches or hides them."""

from re import Match

from hermes.lazy import LazyPattern

# An address with its scheme, or a host without one, which chats make a link of, too.
_ADDRESS = (
    r"(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|mailto:)[^\s<>`]{1,2000}"
    r"|(?<![\w@./\\-])(?:[A-Za-z0-9-]{1,63}\.){1,10}[A-Za-z]{2,24}\b(?::\d{1,5})?(?:[/?#][^\s<>`]{0,2000})?"
)
# What is code stays as it is. Then pictures and links, addresses in angle brackets, bare ones.
_LINK = LazyPattern(
    r"(?s)(?P<code>```.*?(?:```|$)|~~~.*?(?:~~~|$)|(?P<tick>`+)[^`].*?(?P=tick))"
    r"|!?\[(?P<label>[^\]\n]{0,500})\]\(\s*<?(?P<url>[^)\s>]{1,2000})[^)\n]{0,500}\)"
    rf"|<?(?P<bare>{_ADDRESS})>?"
)

_BARE = LazyPattern(_ADDRESS)
LINK = "(link)"


def links_as_text(text: str) -> str:
    """The same text, in which every link shows its whole address as code."""
    return _LINK.sub(_shown, text)


def without_addresses(text: str) -> str:
    """The same text without the addresses of links, for a draft: it is shown without marks, and a
    chat would make every address in it a link."""
    return _LINK.sub(_named, text)


def _named(found: "Match[str]") -> str:
    if found["code"] is not None:
        return _BARE.sub(LINK, found[0])
    label = (found["label"] or "").strip()
    return f"{_BARE.sub(LINK, label)} {LINK}" if label else LINK


def _shown(found: "Match[str]") -> str:
    if found["code"] is not None:
        return found[0]
    if found["bare"] is not None:
        url = found["bare"].rstrip(".,;:!?)'\"*_")
        return f"`{url}`{found['bare'][len(url) :]}"
    label = _BARE.sub(lambda host: f"`{host[0]}`", found["label"].strip())
    url = found["url"].replace("`", "%60")
    return f"{label} (`{url}`)" if label.strip("`") not in ("", url) else f"`{url}`"
