"""The games, a folder each. Folders named in AIRENV_GAMES (separated like PATH) are searched too."""

import os
import warnings

for _folder in os.environ.get("AIRENV_GAMES", "").split(os.pathsep):
    if _folder and not os.path.isdir(_folder):
        warnings.warn(f"AIRENV_GAMES names {_folder}, which is no folder", RuntimeWarning, stacklevel=2)
    elif _folder:
        __path__.append(_folder)
