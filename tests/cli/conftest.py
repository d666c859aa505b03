import pytest

from commands import PRICE, fitted, table


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    table().write_csv(path)
    return path


@pytest.fixture
def model(data, tmp_path):
    path = tmp_path / "m.mercer"
    fitted(data, *PRICE, "--alpha", "1", "-o", path)
    return path
