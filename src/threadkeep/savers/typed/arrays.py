"""numpy's arrays and scalars, exact; numpy is used where the program has imported it."""

import re
import sys
from typing import TYPE_CHECKING, Any

import ormsgpack

from threadkeep.savers.typed import codes
from threadkeep.savers.typed.classes import Unknown
from threadkeep.savers.typed.refusals import Refused

if TYPE_CHECKING:
    from threadkeep.savers.typed.encoding import Encoder

_DTYPE = re.compile(r"[<>|=]?([?biufcmM]|[biufc]\d+|[mM]8(\[\d*[A-Za-z]+(/\d+)?\])?|[SUV]\d+)")


def is_numpy(kind: type[Any]) -> bool:
    """Tell whether a class is that of numpy's arrays or of one of its scalars."""
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and issubclass(kind, (numpy.ndarray, numpy.generic))


def array_state(value: Any, _depth: int, _encoder: "Encoder") -> Any:
    """Turn an array or a scalar of numpy into what msgpack keeps."""
    numpy: Any = sys.modules["numpy"]
    if isinstance(value, numpy.generic):
        return _scalar_state(value, numpy)
    if type(value) is not numpy.ndarray:
        raise Refused(f"a {type(value).__qualname__} would come back as a numpy array; convert it")
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    parts = [_described(value.dtype), [*value.shape], order, value.tobytes(order=order)]
    return ormsgpack.Ext(codes.ARRAY, ormsgpack.packb(parts))


def _scalar_state(value: Any, numpy: Any) -> Any:
    if isinstance(value, (numpy.str_, numpy.bytes_)):
        raise Refused(f"a numpy.{type(value).__name__}; store {type(value).__mro__[1].__name__}()")
    parts = [_described(value.dtype), value.tobytes()]
    return ormsgpack.Ext(codes.SCALAR, ormsgpack.packb(parts))


def _described(dtype: Any) -> Any:
    """State a dtype as text, or as the fields it consists of."""
    if dtype.hasobject or dtype.subdtype is not None:
        raise Refused(f"numpy's dtype {dtype} holds objects; convert it, as with tolist()")
    if dtype.names is None:
        if _DTYPE.fullmatch(dtype.str) is None or dtype.metadata:
            raise Refused(f"numpy's dtype {dtype} is not stored; convert it, as with tolist()")
        return dtype.str
    fields = [[name, _described(dtype.fields[name][0])] for name in dtype.names]
    if _dtype(fields, sys.modules["numpy"]) != dtype:
        raise Refused(f"numpy's dtype {dtype} has gaps or titles; convert it, as with tolist()")
    return fields


def _dtype(described: Any, numpy: Any) -> Any:
    if isinstance(described, str):
        if _DTYPE.fullmatch(described) is None:
            raise ValueError("no dtype")
        return numpy.dtype(described)
    return numpy.dtype([(name, _dtype(inner, numpy)) for name, inner in described])


def array(described: Any, shape: Any, order: Any, data: Any) -> Any:
    """Make an array."""
    numpy = _numpy()
    if order not in ("C", "F") or type(data) is not bytes:
        raise ValueError("no array")
    flat = numpy.frombuffer(bytearray(data), _dtype(described, numpy)) if data else None
    if flat is None:
        flat = numpy.empty(0, _dtype(described, numpy))
    return flat.reshape(shape, order=order)


def scalar(described: Any, data: Any) -> Any:
    """Make a scalar."""
    numpy = _numpy()
    return numpy.frombuffer(data, _dtype(described, numpy), 1)[0]


def _numpy() -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        raise Unknown("this program has not imported numpy")
    return numpy
