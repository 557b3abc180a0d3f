"""Small arrays on the stack: scratch paper that costs a rule nothing.

`np.zeros` in a compiled rule asks the heap every time; a search that draws a world an iteration would ask it
hundreds of thousands of times a second. The array is gone when the function that made it returns: never
return it, never keep it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from airenv.core.jit import JIT_ON


def scratch(size: int, dtype: Any) -> np.ndarray:
    """An array of zeros; `size` is a constant of the module."""
    return np.zeros(size, dtype)


@intrinsic
def _on_stack(typing_context, size, dtype):
    if not isinstance(size, types.IntegerLiteral):
        return None  # not a constant: numba says that the arguments do not fit
    item, length = dtype.dtype, size.literal_value

    def build(context, builder, signature, arguments):
        return cgutils.alloca_once(builder, context.get_data_type(item), size=length)

    return types.CPointer(item)(types.literal(length), dtype), build


def _scratch(size, dtype):
    def make(size, dtype):
        array = carray(_on_stack(size, dtype), (size,), dtype)
        array[:] = 0
        return array

    return make


if JIT_ON:
    overload(scratch, prefer_literal=True, inline="always")(_scratch)
