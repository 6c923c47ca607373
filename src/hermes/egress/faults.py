"""What can go wrong with an HTTP exchange, for those who asked to say to a person."""


class HttpFailed(Exception):
    """An exchange came to nothing. The text says why, in one line, without a secret."""


class Unsendable(HttpFailed):
    """A request that cannot be written as HTTP, or that no proxy of the environment would take."""


class Unreachable(HttpFailed):
    """No connection: nobody there, no trust, or a proxy that says no."""


class ConnectLate(Unreachable):
    """Not in time."""


class Stuck(HttpFailed):
    """The server does not take the request."""


class Broken(HttpFailed):
    """The answer has no end, or is no HTTP."""


class Closed(Broken):
    """The connection ended before a byte of the answer had come."""


class Blocked(HttpFailed):
    """Not a place that a URL from outside may lead to. Nothing was sent there."""


class TooMuch(HttpFailed):
    """More bytes, more redirects or more time than one page may take."""
