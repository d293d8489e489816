"""R07, R08, R09: does a run survive what a provider does? Faults of every kind, a rate limit that
moves, an outage.
"""

from __future__ import annotations

from support.provider_faults import r07, r08, r09

IDS = {"R07": r07, "R08": r08, "R09": r09}
