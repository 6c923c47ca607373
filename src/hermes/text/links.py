"""Links of a model that has read foreign content, as text: no platform fetches or hides them."""

from re import Match

from hermes.lazy import LazyPattern

# What is code stays as it is. Then pictures and links, addresses in angle brackets, bare ones.
_LINK = LazyPattern(
    r"(?s)(?P<code>```.*?(?:```|$)|~~~.*?(?:~~~|$)|(?P<tick>`+)[^`].*?(?P=tick))"
    r"|!?\[(?P<label>[^\]\n]{0,500})\]\(\s*<?(?P<url>[^)\s>]{1,2000})[^)\n]{0,500}\)"
    r"|<?(?P<bare>(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|mailto:)[^\s<>`]{1,2000})>?"
)


def links_as_text(text: str) -> str:
    """The same text, in which every link shows its whole address as code."""
    return _LINK.sub(_shown, text)


def _shown(found: "Match[str]") -> str:
    if found["code"] is not None:
        return found[0]
    if found["bare"] is not None:
        url = found["bare"].rstrip(".,;:!?)'\"*_")
        return f"`{url}`{found['bare'][len(url) :]}"
    label, url = found["label"].strip(), found["url"].replace("`", "%60")
    return f"{label} (`{url}`)" if label and label != url else f"`{url}`"
