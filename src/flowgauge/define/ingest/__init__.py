"""Results that another program measured become nouns: `read_results` is the way in."""

from flowgauge.define.ingest.ingested import Ingested
from flowgauge.define.ingest.reading import read_results

__all__ = ["Ingested", "read_results"]
