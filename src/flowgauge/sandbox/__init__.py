"""Worker processes for python code, their limits and isolation.

In: a `Job` (model.ports). Out: an `Outcome`, whatever the code did. The parent's
side is here; what runs inside a worker is in `guest`, which knows nothing of us.
"""

from flowgauge.sandbox.pool import WorkerPool
from flowgauge.sandbox.tier import gaps, landlock_abi

__all__ = ["WorkerPool", "gaps", "landlock_abi"]
