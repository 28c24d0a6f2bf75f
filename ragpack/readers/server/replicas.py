"""Servers that hold the same model: which one is asked, what is tried again, and which one is gone.

A request goes to the replica with the fewest in flight, `concurrency` of them at most. 408, 409, 429, 5xx, timeouts
and lost connections are tried again, after what `Retry-After` says or else after a growing pause. That is done here and
not by the `openai` client: its versions disagree on which `Retry-After` they follow, and it knows one server only.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

from ragpack.errors import BackendError, UsageError

KEY = "OPENAI_API_KEY"
NO_KEY = "none"
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds; the pause doubles from one try to the next."""
LONGEST_WAIT = 300.0
"""Seconds that a `Retry-After` is followed for: a server that asks for an hour is asked again after this."""
CONNECTING = 10.0
"""Most seconds for the connection alone: a machine that is off must not hold a request as long as a slow answer may."""

Json = dict[str, Any]


class Refused(Exception):
    """This one request has no answer; the others go on."""


class Rejected(Refused):
    """The server's own no: the request as it is will never be answered."""

    def __init__(self, status: int, words: str, about: str) -> None:
        super().__init__(f"the server answered {status}: {words}")
        self.status = status
        self.words = words
        """The server's sentence."""
        self.about = about
        """The sentence and the names of fields that it is about."""


class Gone(Exception):
    """The one replica that was to be asked is set aside."""


class Replica:
    """One server."""

    def __init__(self, client: Any, url: str) -> None:  # noqa: ANN401 # openai.OpenAI, which is not imported up here
        self.client = client
        self.shown = without_credentials(url)
        self.root = url.rstrip("/").removesuffix("/v1")
        """Where vLLM has what is not OpenAI's, such as /tokenize."""
        self.in_flight = 0
        self.rests_until = 0.0
        self.losses = 0
        """Times in a row that it couldn't be reached; what several requests see at once is one time."""
        self.lost_at = 0.0
        self.gone = False


class Replicas:
    """All servers of one run. Methods may be called from many threads."""

    def __init__(
        self, urls: Sequence[str], key: str, *, concurrency: int, timeout: float, retries: int, notes: list[str]
    ) -> None:
        import openai

        patience = openai.Timeout(timeout, connect=min(timeout, CONNECTING))
        self.all = [
            Replica(openai.OpenAI(api_key=key, base_url=url, timeout=patience, max_retries=0), url) for url in urls
        ]
        self._key = key
        self._concurrency = concurrency
        self._timeout = timeout
        self._retries = retries
        self._notes = notes
        self._changed = threading.Condition()
        self._last_words = ""

    @property
    def live(self) -> list[Replica]:
        """Those that are not set aside."""
        return [replica for replica in self.all if not replica.gone]

    def close(self) -> None:
        """Close the connections."""
        for replica in self.all:
            replica.client.close()

    def send(self, path: str, body: Json, halt: threading.Event, only: Replica | None = None) -> Json:
        """What a server answers to `body`. Raises `Refused`, `BackendError` where no server would answer anything,
        and `Gone` where `only` this replica was to be asked."""
        tries = 0
        while True:
            replica = self._taken(only, halt)
            began = time.monotonic()
            pause = 0.0
            try:
                answer = replica.client.post(path, cast_to=object, body=body)
            except Exception as error:
                tries += 1
                pause = self._after(error, replica, path, began, tries)
                if replica.gone:
                    tries = 0  # the others have not been tried
                    if only is not None:
                        raise Gone from error
            else:
                replica.losses = 0
                if not isinstance(answer, dict):
                    raise Refused("the server's answer is no JSON object")
                return answer
            finally:
                self._given_back(replica)
            if pause and halt.wait(pause):
                raise Refused("the run has ended")

    def ask_once(self, path: str, body: Json | None, replica: Replica, patience: float = 30.0) -> Any:  # noqa: ANN401 # JSON
        """One try, of a replica's own address; whatever goes wrong is raised as the client has it."""
        quick = replica.client.with_options(timeout=min(self._timeout, patience))
        return quick.get(path, cast_to=object) if body is None else quick.post(path, cast_to=object, body=body)

    def set_aside(self, replica: Replica, error: Exception) -> None:
        """No more requests to this one; the user is told once."""
        with self._changed:
            self._last_words = f"no connection to {replica.shown}: {self.clean(str(error.__cause__ or error))}"
            if replica.gone:
                return
            replica.gone = True
            if self.live:
                self._notes.append(f"{self._last_words}; set aside, its requests went to the other servers")
            self._changed.notify_all()

    def unreachable(self) -> BackendError:
        """No replica is left."""
        return BackendError(self._last_words, "Is the server running, and is --base-url its address with /v1?")

    def no_access(self, replica: Replica, error: Exception) -> BackendError:
        """The key is not the right one."""
        words = self.clean(words_of(error))
        return BackendError(f"the server at {replica.shown} refuses access: {words}", f"Set {KEY}.")

    def clean(self, text: str) -> str:
        """Some servers quote the key in their errors."""
        return text if self._key == NO_KEY else text.replace(self._key, "***")

    # one try

    def _after(self, error: Exception, replica: Replica, path: str, began: float, tries: int) -> float:
        """What a failed try means: seconds until the next, or what is to be raised."""
        import openai

        if isinstance(error, openai.APIStatusError):
            replica.losses = 0
            return self._status(error, replica, path, tries)
        if isinstance(error, openai.APITimeoutError) and type(error.__cause__).__name__ != "ConnectTimeout":
            if tries > self._retries:
                raise Refused(f"no answer within {self._timeout:g} s") from error
            return pause(tries)
        if isinstance(error, openai.APIConnectionError):
            return self._lost(error, replica, began, tries)
        raise Refused(self.clean(f"{type(error).__name__}: {error}")) from error  # an answer that is none

    def _status(self, error: Any, replica: Replica, path: str, tries: int) -> float:  # noqa: ANN401 # the library has no types here
        status: int = error.status_code
        if status in (401, 403):
            raise self.no_access(replica, error) from error
        words = self.clean(words_of(error))
        if status == 404:
            raise BackendError(
                f"the server at {replica.shown} answered 404 to {path}: {words}",
                "Is --base-url its address with /v1, and does it serve this model that way?",
            ) from error
        if status not in (408, 409, 429) and status < 500:
            raise Rejected(status, words, f"{words} {getattr(error, 'param', '')} {error.body}") from error
        if tries > self._retries:
            raise Refused(f"the server answered {status}: {words}") from error
        asked = retry_after(error.response.headers)
        if asked is None:
            return pause(tries)
        # It concerns the server, not this request: others wait as well, or go elsewhere.
        with self._changed:
            replica.rests_until = max(replica.rests_until, time.monotonic() + asked)
        return 0.0

    def _lost(self, error: Exception, replica: Replica, began: float, tries: int) -> float:
        with self._changed:
            if began >= replica.lost_at:  # sent after the last loss was seen: this is news
                replica.losses += 1
                replica.lost_at = time.monotonic()
                replica.rests_until = max(replica.rests_until, replica.lost_at + pause(replica.losses))
            spent = tries > self._retries
            if not spent and replica.losses <= self._retries:
                return 0.0
        if not self._answers(replica):
            self.set_aside(replica, error)
            return 0.0
        replica.losses = 0
        if spent:  # the server is well, and drops this request
            raise Refused(self.clean(f"the connection was lost: {error.__cause__ or error}")) from error
        return 0.0

    def _answers(self, replica: Replica) -> bool:
        """Whether there is a server at all; what it says doesn't matter."""
        import openai

        try:
            self.ask_once("/models", None, replica, CONNECTING)
        except openai.APIStatusError:
            return True
        except openai.APIConnectionError:
            return False
        except Exception:  # an answer, if an odd one
            return True
        return True

    def _taken(self, only: Replica | None, halt: threading.Event) -> Replica:
        """The replica that is asked next; waits until one has room and doesn't rest."""
        with self._changed:
            while True:
                if halt.is_set():
                    raise Refused("the run has ended")
                live = self.live
                if not live:
                    raise self.unreachable()
                if only is not None and only.gone:
                    raise Gone
                now = time.monotonic()
                wanted = [only] if only is not None else live
                free = [one for one in wanted if one.rests_until <= now and one.in_flight < self._concurrency]
                if free:
                    chosen = min(free, key=lambda one: one.in_flight)
                    chosen.in_flight += 1
                    return chosen
                resting = [one.rests_until - now for one in wanted if one.rests_until > now]
                self._changed.wait(min([*resting, 1.0]))

    def _given_back(self, replica: Replica) -> None:
        with self._changed:
            replica.in_flight -= 1
            self._changed.notify()


def pause(tries: int, draw: Callable[[], float] = random.random) -> float:
    """Seconds before the next try, after `tries` failed ones; up to a quarter less by chance, so that not all come at
    once.

    >>> [pause(tries, lambda: 0.0) for tries in (1, 2, 3, 20)]
    [0.5, 1.0, 2.0, 60.0]
    """
    return min(FIRST_PAUSE * 2.0 ** (min(tries, 50) - 1), LONGEST_PAUSE) * (1 - 0.25 * draw())


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that the server asks for, as a number or as a date, `LONGEST_WAIT` at most; None where it doesn't say.

    >>> retry_after({"retry-after": "1.5"}), retry_after({"retry-after": "86400"}), retry_after({"retry-after": "soon"})
    (1.5, 300.0, None)
    >>> retry_after({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT"}, datetime(2026, 10, 21, 7, 28, tzinfo=UTC))
    10.0
    """
    said = headers.get("retry-after")
    if said is None:
        return None
    try:
        seconds = float(said)
    except ValueError:
        try:
            then = parsedate_to_datetime(said)
        except ValueError:
            return None
        seconds = (then.replace(tzinfo=then.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None


def words_of(error: Any) -> str:  # noqa: ANN401 # the library has no types here
    """The server's own sentence."""
    body = error.body
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body.get("error") or body
    return " ".join(str(body or error.message).split())[:500]


def without_credentials(url: str) -> str:
    """Scheme, host and path: what may be shown and hashed.

    >>> without_credentials("https://me:secret@host:8000/v1/?key=secret")
    'https://host:8000/v1'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        not_an_address()
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def not_an_address() -> NoReturn:
    """Say so, without the address: it may hold a password."""
    raise UsageError("--base-url is not an http(s) address", "Write it like http://localhost:8000/v1.")


def is_loopback(url: str) -> bool:
    """Whether the server is on this machine: it then needs no key."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
