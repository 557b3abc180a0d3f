"""Pictures and text of a table: SVG to pixels, a window where there is a screen."""

from __future__ import annotations

import functools
import io
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from airenv.byhand import Game

RENDER_MODES = ("human", "ansi", "rgb_array")
WINDOW = "airenv"


@functools.cache
def _font_folder() -> str:
    """Text vanishes without a font: matplotlib ships DejaVu on every machine."""
    import matplotlib

    return os.path.join(matplotlib.get_data_path(), "fonts", "ttf")


def png(svg: str, zoom: float = 1.0) -> bytes:
    """An SVG picture as a PNG file."""
    import resvg_py

    fonts: dict[str, Any] = {"skip_system_fonts": True, "font_dirs": [_font_folder()], "font_family": "DejaVu Sans"}
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, **fonts))


def pixels(svg: str, zoom: float = 1.0) -> np.ndarray:
    """An SVG picture as an array [height, width, 3] of bytes, on white."""
    from matplotlib.image import imread

    image = imread(io.BytesIO(png(svg, zoom)), format="png")
    if image.shape[2] == 4:
        alpha = image[:, :, 3:]
        image = image[:, :, :3] * alpha + (1.0 - alpha)
    return np.round(image * 255).astype(np.uint8)


def render(game: Game, state: np.ndarray, mode: str, seat: int | None) -> str | np.ndarray | None:
    """The table as `mode` wants it."""
    if mode == "ansi":
        return game.table(state, seat)
    if mode == "rgb_array":
        return pixels(game.svg(state, seat))
    if not _show_in_window(pixels(game.svg(state, seat))):
        print(game.table(state, seat), file=sys.stdout, flush=True)
    return None


def _show_in_window(image: np.ndarray) -> bool:
    """Show an image in a window that stays; False where there is no screen."""
    if not (sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    import matplotlib
    import matplotlib.pyplot as plt
    from matplotlib.backends import BackendFilter, backend_registry

    if matplotlib.get_backend().lower() not in backend_registry.list_builtin(BackendFilter.INTERACTIVE):
        return False
    figure: Any = plt.figure(WINDOW, figsize=(image.shape[1] / 100, image.shape[0] / 100))
    figure.clear()
    figure.figimage(image)
    plt.show(block=False)
    plt.pause(0.01)
    return True


def close_window() -> None:
    """Close the window that "human" opened, if it did."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(WINDOW)
