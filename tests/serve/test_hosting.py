import gc
import sys

from sureflow.serve.guard import LOG
from sureflow.serve.hosting import quick_answers, written_log


def test_the_settings_of_the_process_are_restored():
    def settings():
        return sys.getswitchinterval(), gc.get_freeze_count(), list(LOG.handlers), LOG.propagate, LOG.level

    before = settings()
    with written_log(), quick_answers():
        assert settings() != before
    assert settings() == before
