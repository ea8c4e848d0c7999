"""Reads tables that MLCommons publishes as pickles. A pickle can run any code: this reader allows only tables, arrays and values."""

import _compat_pickle
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame, Series
from pandas.compat import pickle_compat

from .errors import DataError

# Names that tables consist of, by module.
ALLOWED = {
    "builtins": {"slice", "bytearray", "object", "set", "frozenset", "list", "dict", "tuple"},
    "collections": {"OrderedDict"},
    "copyreg": {"_reconstructor"},
    "_codecs": {"encode"},
    "datetime": {"datetime", "date", "timedelta"},
    "numpy": {"ndarray", "dtype", "datetime64"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
    "numpy._core.numeric": {"_frombuffer"},
    "pandas": {"DataFrame", "Series", "Index", "RangeIndex", "MultiIndex"},
    "pandas.core.frame": {"DataFrame"},
    "pandas.core.series": {"Series"},
    "pandas.core.indexes.base": {"Index", "_new_Index"},
    "pandas.core.indexes.range": {"RangeIndex"},
    "pandas.core.indexes.multi": {"MultiIndex"},
    "pandas.core.indexes.frozen": {"FrozenList"},
    "pandas.core.indexes.datetimes": {"DatetimeIndex", "_new_DatetimeIndex"},
    "pandas.core.indexes.numeric": {"Int64Index", "UInt64Index", "Float64Index"},
    "pandas.core.internals.managers": {"BlockManager", "SingleBlockManager"},
    "pandas._libs.internals": {"_unpickle_block", "BlockManager", "BlockPlacement"},
    "pandas.core.internals.blocks": {"new_block"},
    "pandas.core.dtypes.dtypes": {"CategoricalDtype", "DatetimeTZDtype"},
    "pandas.core.arrays.categorical": {"Categorical"},
    "pandas.core.arrays.string_": {"StringDtype", "StringArray"},
    "pandas.core.arrays.integer": {"IntegerArray", "Int64Dtype", "Int32Dtype", "Int16Dtype", "Int8Dtype"},
    "pandas.core.arrays.floating": {"FloatingArray", "Float64Dtype", "Float32Dtype"},
    "pandas.core.arrays.boolean": {"BooleanArray", "BooleanDtype"},
    "pandas.core.arrays.datetimes": {"DatetimeArray"},
    "pandas._libs.missing": {"NA"},
    "pandas._libs.arrays": {"__pyx_unpickle_NDArrayBacked"},
}
FLEXIBLE = "SU"  # kinds of numpy whose items have any length


class Tables(pickle_compat.Unpickler):
    """Unpickler that rejects everything but tables."""

    dispatch = dict(pickle_compat.Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        if self.proto < 3:  # names as Python 2 had them
            module, name = _compat_pickle.NAME_MAPPING.get((module, name), (module, name))
            module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        if name not in ALLOWED.get(module, ()):
            raise DataError(f"it refers to {module}.{name}, which a table of prompts does not contain; none of its code was run")
        return super().find_class(module, name)

    def load_build(self) -> None:
        made, state = self.stack[-2:]
        if isinstance(made, np.dtype):
            check_type(made, state)
        super().load_build()

    dispatch[ord("b")] = load_build


def check_type(made: np.dtype, state: Any) -> None:
    """Rejects a type that would read its items' bytes as another type: numpy does not validate the state."""
    *_, sub_type, names, fields, length, _, flags = state[:8] if isinstance(state, tuple) and len(state) >= 8 else (None,) * 8
    plain = sub_type is None and names is None and fields is None and made.kind != "V" and flags == made.flags
    if not plain or (made.kind not in FLEXIBLE and length not in (-1, made.itemsize)):
        raise DataError("it contains an array of a compound type, which a table of prompts does not contain")


def column(path: Path, name: str) -> list[Any]:
    """Returns a column of the table."""
    with open(path, "rb") as file:
        try:
            table = Tables(file).load()
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        except Exception as error:  # other files cause exceptions of many types
            raise DataError(f"{path}: not a pickled table: {error}") from error
    if not isinstance(table, DataFrame) or name not in table or not isinstance(table[name], Series):
        raise DataError(f"{path}: not a table with one column {name}")
    return table[name].tolist()
