"""msgpack extensions that values are stored in, and how msgpack is asked for.

0 to 7 are LangGraph's, of which the messages' is written and all are read. Ours begin at 16; a
number is never used again for something else.
"""

import ormsgpack

LG_ONE, LG_POSITIONAL, LG_NAMED, LG_METHOD = range(4)  # a callable by name, and what it is given
LG_MODEL_V1, LG_MODEL, LG_ARRAY, LG_SNAPSHOT = range(4, 8)

TUPLE = 16  # an array of its items
TEXT = 17  # text with lone surrogates: UTF-8 with them
INTEGER = 18  # beyond 64 bits: two's complement, the highest byte first
MAPPING = 19  # a dict with keys that msgpack would change: an array of keys and values in turn
BUILTIN = 20  # an array of a name of ours and what it is made of: see ``builtins``
ENUM = 21  # [module, qualname, value]
NAMEDTUPLE = 22  # [module, qualname, {field: value}]
DATACLASS = 23  # [module, qualname, {field: value}, {further attribute: value} or nil]
MODEL = 24  # [module, qualname, {field: value}, [field set, ...] or nil, extra, private]
MODEL_V1 = 25  # the same, of pydantic 1; no extra: it stands among the fields
SUBCLASS = 26  # [module, qualname, the value as its builtin type, {attribute: value} or nil]
SLOTS = 27  # [module, qualname, {slot: value}]
ARRAY = 28  # [dtype, [length, ...], order, bytes] of numpy
SCALAR = 29  # [dtype, bytes] of numpy
SECRET = 30  # the name of a secret's class, which alone is stored
TABLE = 31  # of pandas; see ``tables``

DEPTH = 150  # levels of a value: msgpack itself stops at 256, Python at some hundred calls

PACK = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
UNPACK = ormsgpack.OPT_NON_STR_KEYS
