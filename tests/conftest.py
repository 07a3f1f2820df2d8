"""What all tests share."""

import gc


def pytest_collection_finish():
    """What has been imported stays: it is not looked through for garbage again and again."""
    gc.freeze()
