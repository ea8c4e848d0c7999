"""Tables that MLCommons publishes as pickles. A pickle can run any code: this one may only make tables, arrays and plain values."""

from pathlib import Path
from typing import Any

from pandas import DataFrame
from pandas.compat.pickle_compat import Unpickler

from .errors import DataError

# What tables are made of, by module.
ALLOWED = {
    "builtins": {"slice", "list", "dict", "tuple", "set", "frozenset", "bytearray", "complex", "int", "float", "str", "bytes", "bool"},
    "collections": {"OrderedDict"},
    "copyreg": {"_reconstructor"},
    "_codecs": {"encode"},
    "functools": {"partial"},
    "numpy": {"ndarray", "dtype"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
    "numpy._core.numeric": {"_frombuffer"},
    "pandas": {"DataFrame", "Series", "Index", "RangeIndex"},
    "pandas.core.frame": {"DataFrame"},
    "pandas.core.series": {"Series"},
    "pandas.core.indexes.base": {"Index", "_new_Index"},
    "pandas.core.indexes.range": {"RangeIndex"},
    "pandas.core.indexes.numeric": {"Int64Index", "UInt64Index", "Float64Index"},
    "pandas.core.internals.managers": {"BlockManager", "SingleBlockManager"},
    "pandas._libs.internals": {"_unpickle_block", "BlockManager", "BlockPlacement"},
    "pandas.core.internals.blocks": {"new_block"},
    "pandas.core.dtypes.dtypes": {"CategoricalDtype"},
    "pandas.core.arrays.categorical": {"Categorical"},
    "pandas.core.arrays.string_": {"StringDtype", "StringArray"},
    "pandas._libs.arrays": {"__pyx_unpickle_NDArrayBacked"},
}


class Tables(Unpickler):
    """Reads nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if name not in ALLOWED.get(module, ()):
            raise DataError(f"it holds {module}.{name}, which no table needs; nothing of it was run")
        return super().find_class(module, name)


def column(path: Path, name: str) -> list[Any]:
    """A column of the table."""
    with open(path, "rb") as file:
        try:
            table = Tables(file).load()
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        except Exception as error:  # whatever reading something else as a pickle leads to
            raise DataError(f"{path}: not a pickled table: {error}") from error
    if not isinstance(table, DataFrame) or name not in table:
        raise DataError(f"{path}: not a table with the column {name}")
    return table[name].tolist()
