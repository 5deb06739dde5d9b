"""Damage as files suffer it: flipped bits, cuts, splices, wrong encodings, odd values in the place of good ones."""

from __future__ import annotations

from hypothesis import strategies as st

ODD = [
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1",
    b"1.5",
    b'"7"',
    b"true",
    b"null",
    b"{}",
    b"[]",
    b"9007199254740993",
    b"1" * 5000,
    b"\\ud83d",
    b"\\u0000",
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"[" * 1500,
    b'{"a":' * 1500,
    b"}{",
    b"\n",
    b"\r",
    b'"',
    b"\\",
    b"\x1b]52;c;AAAA\x07",
    "\u202e".encode(),
]

places = st.integers(0, 2**20)
steps = st.one_of(
    st.tuples(st.just("flip"), places, st.integers(0, 7)),
    st.tuples(st.just("cut"), places, st.just(0)),
    st.tuples(st.just("remove"), places, st.integers(1, 400)),
    st.tuples(st.just("insert"), places, st.sampled_from(range(len(ODD)))),
    st.tuples(st.just("value"), places, st.sampled_from(range(len(ODD)))),
    st.tuples(st.just("copy"), places, places),
    st.tuples(st.just("swap lines"), places, places),
    st.tuples(st.just("join lines"), places, st.just(0)),
    st.tuples(st.just("recode"), places, st.integers(0, 2)),
)
damages = st.lists(steps, min_size=1, max_size=4)


def damaged(data: bytes, damage: list[tuple[str, int, int]]) -> bytes:
    """The data after these steps."""
    for kind, place, extra in damage:
        if not data:
            return data
        at = place % len(data)
        if kind == "flip":
            data = data[:at] + bytes([data[at] ^ (1 << extra)]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "remove":
            data = data[:at] + data[at + extra :]
        elif kind == "insert":
            data = data[:at] + ODD[extra] + data[at:]
        elif kind == "value":
            begin = data.find(b":", at)
            ends = [end for end in (data.find(b",", begin + 1), data.find(b"}", begin + 1)) if end > 0]
            if begin > 0 and ends:
                data = data[: begin + 1] + ODD[extra] + data[min(ends) :]
        elif kind == "copy":
            source = extra % len(data)
            data = data[:at] + data[source : source + 300] + data[at:]
        elif kind == "swap lines":
            lines = data.split(b"\n")
            one, other = at % len(lines), extra % len(lines)
            lines[one], lines[other] = lines[other], lines[one]
            data = b"\n".join(lines)
        elif kind == "join lines":
            end = data.find(b"\n", at)
            data = data[:end] + data[end + 1 :] if end >= 0 else data
        elif kind == "recode":
            data = data[:at] + data[at:].decode("latin-1").encode(("utf-16", "utf-8", "utf-7")[extra])
    return data
