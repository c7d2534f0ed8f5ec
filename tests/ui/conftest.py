"""The app without a browser, through Streamlit's own test runner."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
OpenApp = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def profile_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No test sees what its user has saved."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "kvbudget" / "profiles"


@pytest.fixture(autouse=True)
def own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit puts the app's script in the place of ``__main__``, which processes started later would run."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture
def open_app() -> OpenApp:
    """``open_app(model="13b-class-mha", memory="8GiB")``: the first page as a link with these parameters opens it."""

    def open_app(page: str = "", **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        for key, value in query.items():
            app.query_params[key] = value
        if page:
            app.switch_page(page)
        app.run()
        assert not app.exception
        return app

    return open_app


def words(app: AppTest) -> str:
    """All that the page says outside its charts."""
    said = [*app.title, *app.header, *app.markdown, *app.caption, *app.info, *app.warning, *app.code]
    return "\n".join([*(str(element.value) for element in said), *(html.proto.body for html in app.get("html"))])
