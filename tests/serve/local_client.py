"""A client of a service in this process, under a name of this machine."""

from collections.abc import Mapping
from typing import Any

from starlette.testclient import TestClient

from sureflow.serve.service import create_app
from sureflow.surrogate.model import Surrogate


def local_client(models: Mapping[str, Surrogate], **options: Any) -> TestClient:
    return TestClient(create_app(models, **options), base_url="http://localhost")
