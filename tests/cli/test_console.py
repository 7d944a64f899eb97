import pytest

from sureflow.cli.console import Pace, duration


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-:--"), (0, "0:00"), (65.4, "1:05"), (3600, "1:00:00"), (36061, "10:01:01")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_the_time_left_follows_the_recent_pace():
    pace = Pace(window=4)
    assert pace.left(60.0, 1, 100) is None  # compiled for a minute
    assert pace.left(62.0, 2, 100) == pytest.approx(2.0 * 98)
    for completed in range(3, 11):
        left = pace.left(60.0 + 2.0 * (completed - 1), completed, 100)
    assert left == pytest.approx(2.0 * 90)
    assert pace.left(80.0, 10, 100) > left  # nothing has come since
