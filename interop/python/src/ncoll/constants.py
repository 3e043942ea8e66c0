# SPDX-License-Identifier: BSD-3-Clause
"""The constants of ncoll.h and ncoll_eventual.h, without their prefix NCOLL_, as members of enumerations and by
themselves. A test of ncoll compares them with the headers."""
import enum


class Status(enum.IntEnum):
    """The result of a call."""

    OK = 0
    TIMEOUT = 1
    ERR_ARGUMENT = -1
    ERR_HANDLE = -2
    ERR_BUSY = -3
    ERR_MISMATCH = -4
    ERR_PEER = -5
    ERR_UNSUPPORTED = -6
    ERR_RESOURCE = -7
    ERR_MEMORY = -8
    ERR_BOOTSTRAP = -9
    ERR_DEVICE = -10
    ERR_SYSTEM = -11
    ERR_INTERNAL = -12
    ERR_CODEC = -13


OK = Status.OK
TIMEOUT = Status.TIMEOUT
ERR_ARGUMENT = Status.ERR_ARGUMENT
ERR_HANDLE = Status.ERR_HANDLE
ERR_BUSY = Status.ERR_BUSY
ERR_MISMATCH = Status.ERR_MISMATCH
ERR_PEER = Status.ERR_PEER
ERR_UNSUPPORTED = Status.ERR_UNSUPPORTED
ERR_RESOURCE = Status.ERR_RESOURCE
ERR_MEMORY = Status.ERR_MEMORY
ERR_BOOTSTRAP = Status.ERR_BOOTSTRAP
ERR_DEVICE = Status.ERR_DEVICE
ERR_SYSTEM = Status.ERR_SYSTEM
ERR_INTERNAL = Status.ERR_INTERNAL
ERR_CODEC = Status.ERR_CODEC


class DataType(enum.IntEnum):
    """The type of the elements that a call moves."""

    INT8 = 1
    INT16 = 2
    INT32 = 3
    INT64 = 4
    UINT8 = 5
    UINT16 = 6
    UINT32 = 7
    UINT64 = 8
    FLOAT = 9
    DOUBLE = 10
    LONG_DOUBLE = 11
    HALF = 12
    BFLOAT16 = 13
    COMPLEX_FLOAT = 14
    COMPLEX_DOUBLE = 15
    INT32_INT32 = 16
    INT64_INT64 = 17
    FLOAT_INT32 = 18
    DOUBLE_INT32 = 19
    DOUBLE_INT64 = 20


INT8 = DataType.INT8
INT16 = DataType.INT16
INT32 = DataType.INT32
INT64 = DataType.INT64
UINT8 = DataType.UINT8
UINT16 = DataType.UINT16
UINT32 = DataType.UINT32
UINT64 = DataType.UINT64
FLOAT = DataType.FLOAT
DOUBLE = DataType.DOUBLE
LONG_DOUBLE = DataType.LONG_DOUBLE
HALF = DataType.HALF
BFLOAT16 = DataType.BFLOAT16
COMPLEX_FLOAT = DataType.COMPLEX_FLOAT
COMPLEX_DOUBLE = DataType.COMPLEX_DOUBLE
INT32_INT32 = DataType.INT32_INT32
INT64_INT64 = DataType.INT64_INT64
FLOAT_INT32 = DataType.FLOAT_INT32
DOUBLE_INT32 = DataType.DOUBLE_INT32
DOUBLE_INT64 = DataType.DOUBLE_INT64


class Operation(enum.IntEnum):
    """An operation of a reduction."""

    SUM = 1
    PROD = 2
    MIN = 3
    MAX = 4
    LAND = 5
    LOR = 6
    LXOR = 7
    BAND = 8
    BOR = 9
    BXOR = 10
    MINLOC = 11
    MAXLOC = 12
    SUM_REPRODUCIBLE = 13


SUM = Operation.SUM
PROD = Operation.PROD
MIN = Operation.MIN
MAX = Operation.MAX
LAND = Operation.LAND
LOR = Operation.LOR
LXOR = Operation.LXOR
BAND = Operation.BAND
BOR = Operation.BOR
BXOR = Operation.BXOR
MINLOC = Operation.MINLOC
MAXLOC = Operation.MAXLOC
SUM_REPRODUCIBLE = Operation.SUM_REPRODUCIBLE


class Bootstrap(enum.IntEnum):
    """How the ranks find each other."""

    AUTO = 0
    FORK = 1
    PMIX = 2
    TCP = 3
    USER = 4
    SELF = 5


BOOTSTRAP_AUTO = Bootstrap.AUTO
BOOTSTRAP_FORK = Bootstrap.FORK
BOOTSTRAP_PMIX = Bootstrap.PMIX
BOOTSTRAP_TCP = Bootstrap.TCP
BOOTSTRAP_USER = Bootstrap.USER
BOOTSTRAP_SELF = Bootstrap.SELF


class LogLevel(enum.IntEnum):
    """How much is logged."""

    NONE = 0
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4


LOG_NONE = LogLevel.NONE
LOG_ERROR = LogLevel.ERROR
LOG_WARN = LogLevel.WARN
LOG_INFO = LogLevel.INFO
LOG_DEBUG = LogLevel.DEBUG


class Level(enum.IntEnum):
    """Parts of a machine that stand for nodes."""

    AUTO = 0
    NONE = 1
    PACKAGE = 2
    NUMA = 3
    L3 = 4
    CORE = 5


LEVEL_AUTO = Level.AUTO
LEVEL_NONE = Level.NONE
LEVEL_PACKAGE = Level.PACKAGE
LEVEL_NUMA = Level.NUMA
LEVEL_L3 = Level.L3
LEVEL_CORE = Level.CORE


class Tune(enum.IntEnum):
    """Where algorithms are chosen from."""

    TABLE = 0
    TRIAL = 1
    MODEL = 2
    OFF = 3


TUNE_TABLE = Tune.TABLE
TUNE_TRIAL = Tune.TRIAL
TUNE_MODEL = Tune.MODEL
TUNE_OFF = Tune.OFF


class StaleAlgorithm(enum.IntEnum):
    """How contributions of a stale-synchronous allreduce travel."""

    AUTO = 0
    HYPERCUBE = 1
    SLICES = 2
    RING = 3


STALE_AUTO = StaleAlgorithm.AUTO
STALE_HYPERCUBE = StaleAlgorithm.HYPERCUBE
STALE_SLICES = StaleAlgorithm.SLICES
STALE_RING = StaleAlgorithm.RING


class ThresholdOf(enum.IntEnum):
    """What the fraction of a threshold is taken of."""

    DATA = 1
    HEAVIEST = 2
    RANKS = 3


THRESHOLD_DATA = ThresholdOf.DATA
THRESHOLD_HEAVIEST = ThresholdOf.HEAVIEST
THRESHOLD_RANKS = ThresholdOf.RANKS


class OpFlags(enum.IntFlag):
    """What a user-defined operation promises."""

    COMMUTATIVE = 1
    IDEMPOTENT = 2


OP_COMMUTATIVE = OpFlags.COMMUTATIVE
OP_IDEMPOTENT = OpFlags.IDEMPOTENT


class Sync(enum.IntFlag):
    """How far collectives synchronise."""

    LOOSE = 0
    STRICT_ENTRY = 1
    STRICT_EXIT = 2
    STRICT = 3


LOOSE = Sync.LOOSE
STRICT_ENTRY = Sync.STRICT_ENTRY
STRICT_EXIT = Sync.STRICT_EXIT
STRICT = Sync.STRICT


class CodecFlags(enum.IntFlag):
    """What a codec of the program's own promises."""

    CHUNKS = 1
    FIXED = 2
    SURE = 4


CODEC_CHUNKS = CodecFlags.CHUNKS
CODEC_FIXED = CodecFlags.FIXED
CODEC_SURE = CodecFlags.SURE


BLOCK = 2**63 - 1  # the time-out of C for None
TEST = 0
NO_GROUP = -1
NO_INDEX = 2**64 - 1
SOLO = 1
MAJORITY = 0
VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
