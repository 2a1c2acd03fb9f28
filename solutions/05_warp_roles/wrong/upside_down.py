# expect: AssertionError
# The ratios upside down.
from ws_course.bench.record import load

record = load("tile-ladder")
UNIFIED, ROLES = "tile_03_pipeline_unified", "tile_04_pipeline_roles"
alone = record.find(ROLES, 1, STAGES=2).median_ms / record.find(UNIFIED, 1, STAGES=2).median_ms
at_best = record.find(ROLES, "best").median_ms / record.find(UNIFIED, "best").median_ms
