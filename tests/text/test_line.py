"""Lines of several texts: how they compare and are told."""

import copy
import pickle

from gradsh.text.line import Line, in_order


def test_lines_of_two_texts_differ_and_a_plain_number_is_any() -> None:
    here, there = Line(3), Line(3, "model.py")
    assert here != there
    assert here == 3 == there
    assert not here != 3  # noqa: SIM202  # what != itself says
    assert len({here, there, Line(3, "model.py"), Line(3, "other.py")}) == 3
    assert [f"line {one}" for one in (here, there, Line(3, "/tmp/a/model.py"))] == ["line 3", "line 3 of model.py", "line 3 of model.py"]
    assert f"{here:>3}" == "  3"
    for twin in (copy.deepcopy(there), pickle.loads(pickle.dumps(there))):
        assert (twin, twin.file) == (there, "model.py")
    mixed = [Line(1, "cell 10"), Line(9, "cell 2"), Line(4), Line(2, "cell 2"), None]
    assert sorted(mixed, key=in_order) == [None, Line(4), Line(2, "cell 2"), Line(9, "cell 2"), Line(1, "cell 10")]
