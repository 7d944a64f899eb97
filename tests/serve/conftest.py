"""The service that most of its tests ask: one model of a small bow shock, called `shock`."""

import pytest

from explore.trained import trained
from serve.local_client import local_client


@pytest.fixture(scope="module")
def client():
    with local_client({"shock": trained("interpolation")}) as client:
        yield client
