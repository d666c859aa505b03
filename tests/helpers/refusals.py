"""How a call refuses what it cannot take."""

import re

import pytest


def refuses(message, call, *args, error=ValueError):
    """Assert that a call raises an error of one line that contains the message."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*args)
    assert "\n" not in str(caught.value)
