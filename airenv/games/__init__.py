"""The games, a folder each. Folders named in AIRENV_GAMES (separated like PATH) are searched too."""

import os

__path__ += [p for p in os.environ.get("AIRENV_GAMES", "").split(os.pathsep) if p]
