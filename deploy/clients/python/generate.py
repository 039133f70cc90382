#!/usr/bin/env python3
"""Writes `src/bethink/types.py` from `openapi.json`: `python generate.py [FILE]`.

It runs `datamodel-codegen`, whose version is in `tests/clients/requirements.txt`, and makes its output work without other
packages.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OPENAPI = HERE.parents[2] / "openapi.json"
TYPES = HERE / "src/bethink/types.py"

GENERATOR = [
    *("datamodel-codegen", "--input", str(OPENAPI), "--input-file-type", "openapi"),
    *("--output-model-type", "typing.TypedDict", "--target-python-version", "3.10"),
    *("--enum-field-as-literal", "all", "--use-schema-description", "--use-field-description"),
    "--use-single-line-docstring",
    *("--formatters", "black", "isort", "--disable-timestamp", "--disable-warnings"),
]

HEADER = '''"""The types of the API, generated from `openapi.json` by `generate.py`. Do not edit.

They describe the JSON; nothing is checked when a program runs. A newer daemon may send more fields, and values that a
`Literal` does not list.
"""
'''

# `NotRequired` is in the standard library since Python 3.11. Type checkers know it for older versions too.
IMPORT = "from typing_extensions import NotRequired\n"
WITHOUT_PACKAGES = """
if TYPE_CHECKING:
    from typing_extensions import NotRequired
elif sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing import Optional as NotRequired
"""


def types() -> str:
    generated = subprocess.run(GENERATOR, check=True, capture_output=True, text=True).stdout
    _, code = generated.split("from __future__ import annotations\n", 1)
    code = code.replace("\nfrom typing import", "\nimport sys\nfrom typing import TYPE_CHECKING,", 1)
    return f"{HEADER}\nfrom __future__ import annotations\n{code.replace(IMPORT, WITHOUT_PACKAGES, 1)}"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else TYPES).write_text(types())
