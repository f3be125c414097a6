import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def exact():
    """64-bit numbers in these tests alone: other tests look at what a user's session keeps."""
    with jax.enable_x64(True):
        yield
