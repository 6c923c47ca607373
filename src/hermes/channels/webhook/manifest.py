"""The facts of this channel: answers stay in the store unless a route delivers them."""

from hermes.core.channel import Manifest

HINTS = (
    "Another program sent this event. No person watches or answers questions: decide by "
    "yourself, and end with a short report that can be understood without the event."
)
ACK_S = 8.0  # GitHub, for one, hangs up after ten seconds
MANIFEST = Manifest(name="webhook", audience="unattended", fetched=True, hints=HINTS, ack_s=ACK_S)
