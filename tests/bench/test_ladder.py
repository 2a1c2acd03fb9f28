"""What is measured, without a GPU: the cases, and the error that names the fix."""

import pytest

from ws_course import device
from ws_course.bench import ladder
from ws_course.kernels.catalog import LADDER
from ws_course.runtime import BackendError


def test_cases_combine_the_constants_that_a_kernel_has():
    found = list(ladder.cases(intensities=(1, 2), stages=(2, 3), loader_warps=(1, 4), storer_warps=(1,), ctas=(1, 2)))
    count = {spec.name: sum(case.kernel == spec.name for case in found) for spec in LADDER}
    assert list(count.values()) == [2 * 2, 2 * 2, 2 * 2 * 2, 2 * 2 * 2, 2 * 2 * 2 * 2]
    assert len(set(found)) == len(found)
    for case in found:
        assert case.spec.defines(**dict(case.params))


def test_the_record_covers_what_lessons_choose_from():
    found = list(ladder.cases())
    for spec in LADDER:
        for name in ("STAGES", "LOADER_WARPS", "INTENSITY"):
            wanted = set(spec.choices.get(name, ()))
            assert wanted == {dict(c.params)[name] for c in found if c.kernel == spec.name and name in dict(c.params)}


@pytest.mark.skipif(bool(device.driver().gpus), reason="this machine has a GPU")
def test_without_a_gpu_the_fix_is_named():
    with pytest.raises(BackendError, match="ws-course doctor"):
        ladder.measure_live()
    with pytest.raises(BackendError, match="no GPU"):
        ladder.record_ladder("unused.json")
