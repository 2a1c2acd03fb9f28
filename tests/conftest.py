"""What all tests share: tests marked ``gpu`` are skipped, with the reason, on a machine that has none."""

import pytest

from ws_course import device


def pytest_collection_modifyitems(items):
    if device.has_gpu():
        return
    skip = pytest.mark.skip(reason=f"no GPU: {device.driver().error or device.this_machine()}")
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(skip)
