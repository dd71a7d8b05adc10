"""Server-sent events of one answer, from chunks that may break anywhere."""

from __future__ import annotations

from collections import deque

import msgspec

from tracker.load.answers import BadAnswerError, decode_object, refuse_error

_DONE = b"[DONE]"
# The last events of a stream hold its counts: the finish reason, then the usage.
_KEPT_EVENTS = 4
# Reads past a value without building it: half the cost of decoding, and a malformed event is found all the same.
_CHECK = msgspec.json.Decoder(msgspec.Raw)


class Events:
    """The events of one stream, chunk by chunk; keeps only the last few."""

    __slots__ = ("_ended", "_rest", "last")

    def __init__(self) -> None:
        """Begin with nothing received."""
        self._rest = b""
        self._ended = False
        self.last: deque[bytes] = deque(maxlen=_KEPT_EVENTS)
        """The last events' data, the terminator left out."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that this chunk completes.

        Raises:
            BadAnswerError: An event is not JSON or not UTF-8, is an error, or follows the terminator.
        """
        *lines, self._rest = (self._rest + chunk if self._rest else chunk).split(b"\n")
        found = [line[5:].strip() for line in lines if line.startswith(b"data:")]
        events = [data for data in found if data and not self._terminator(data)]
        for event in events:
            _check(event)
        self.last.extend(events)
        return events

    def close(self) -> None:
        """Take note that no further chunk comes.

        Raises:
            BadAnswerError: The stream ended without its terminator, or in the middle of an event.
        """
        rest = self._rest.strip()
        if rest.startswith(b"data:") and self._terminator(rest[5:].strip()):
            return
        if rest:
            raise BadAnswerError("the stream ended in the middle of an event")
        if not self._ended:
            raise BadAnswerError("the stream ended without its terminator")

    def _terminator(self, data: bytes) -> bool:
        if data == _DONE:
            self._ended = True
            return True
        if self._ended:
            raise BadAnswerError("the stream went on after its terminator")
        return False


def _check(event: bytes) -> None:
    try:
        _CHECK.decode(event)
        if not event.isascii():
            event.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswerError(f"malformed event: {error}") from error
    if b'"error"' in event:
        refuse_error(decode_object(event))
