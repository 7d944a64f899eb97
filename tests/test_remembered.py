"""What is worked out once for an object."""

import gc
import threading
import time
import weakref

import pytest

from sureflow.remembered import once_for_each


class Thing:
    """Something that others refer to weakly."""


def test_every_object_is_asked_about_once():
    asked = []

    @once_for_each
    def found(thing: Thing) -> int:
        asked.append(thing)
        return len(asked)

    first, second = Thing(), Thing()
    assert [found(first), found(second), found(first), found(second)] == [1, 2, 1, 2]


def test_threads_wait_for_the_one_that_is_at_work():
    asked, answers, thing = [], [], Thing()

    @once_for_each
    def found(thing: Thing) -> object:
        asked.append(thing)
        time.sleep(0.05)
        return object()

    threads = [threading.Thread(target=lambda: answers.append(found(thing))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
    assert len({id(one) for one in answers}) == 1


def test_what_is_refused_is_refused_again():
    asked, thing = [], Thing()

    @once_for_each
    def found(thing: Thing) -> None:
        asked.append(thing)
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            found(thing)
    assert len(asked) == 2


def test_nothing_is_kept_of_an_object_that_is_gone():
    @once_for_each
    def found(thing: Thing) -> Thing:
        return Thing()

    thing = Thing()
    kept, own = weakref.ref(found(thing)), weakref.ref(thing)
    assert kept() is not None
    del thing
    gc.collect()
    assert own() is None
    assert kept() is None
