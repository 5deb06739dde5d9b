from hypothesis import given
from hypothesis import strategies as st

from agentsim.harness.random_streams import Stream, Streams


def test_splitmix_gives_its_published_numbers():
    # The first outputs of splitmix64 from the state 1234567, as its reference implementation prints them.
    stream = Stream(0, "any")
    stream._counter = 1_234_567
    assert [stream.bits() for _ in range(3)] == [
        6_457_827_717_110_365_317 >> 32,
        3_203_168_211_198_807_973 >> 32,
        9_817_491_932_198_370_423 >> 32,
    ]


def test_a_name_and_a_seed_are_a_stream():
    numbers = [Stream(7, "tools").bits() for _ in range(2)]
    assert numbers[0] == numbers[1]
    assert Stream(7, "tools").bits() != Stream(7, "pauses").bits()
    assert Stream(7, "tools").bits() != Stream(8, "tools").bits()


def test_drawing_from_one_stream_changes_no_other():
    streams = Streams(3)
    task, busy = streams.stream("task"), streams.stream("failures")
    first = [task.bits() for _ in range(5)]
    again = streams.stream("task")
    mixed = []
    for _ in range(5):
        busy.bits()
        mixed.append(again.bits())
    assert mixed == first


@given(st.integers(0, 2**63), st.integers(1, 2**32))
def test_below_stays_below(seed: int, limit: int):
    stream = Stream(seed, "x")
    assert all(0 <= stream.below(limit) < limit for _ in range(20))


def test_shares_are_met():
    stream = Stream(5, "x")
    hits = sum(stream.happens(250_000) for _ in range(20_000))
    assert 4_800 < hits < 5_200  # 5,000 expected, a standard deviation is 61
    assert not any(stream.happens(0) for _ in range(1_000))
    assert all(stream.happens(1_000_000) for _ in range(1_000))
