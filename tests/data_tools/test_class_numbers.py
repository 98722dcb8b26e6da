# SPDX-License-Identifier: Apache-2.0
"""Which class a name is, where several are alike but for upper and lower case."""

from pathlib import Path

import pytest
from tally_data.class_numbers import GivenClasses, Numbering, order_by_name
from tally_data.errors import DataError
from tally_data.json_form import JsonForm


def given(*names: str) -> GivenClasses:
    return GivenClasses(list(names), len(names), "'model'", is_model=True)


@pytest.mark.parametrize(("own", "theirs", "order"), [
    (["us", "US", "them"], ["them", "US", "us"], [2, 1, 0]),
    (["Us", "THEM"], ["them", "us"], [1, 0]),
    (["US", "Them", "us"], ["us", "US", "them"], [1, 2, 0]),
])  # fmt: skip
def test_names_that_are_alike(own: list[str], theirs: list[str], order: list[int]) -> None:
    assert order_by_name(own, given(*theirs)) == (theirs, order)


def test_names_that_might_be_two_classes() -> None:
    with pytest.raises(DataError, match="the data set has the classes 0 Us, 1 us, but 'model' has 0 US, 1 us"):
        order_by_name(["Us", "us"], given("US", "us"))
    numbering = Numbering(JsonForm(Path("a"), "a form"), "label", given("US", "us", "them"), None)
    assert numbering.numbers({"us": "line 1", "US": "line 2", "Them": "line 3"}, 2).numbers == {"us": 1, "US": 0, "Them": 2}
    with pytest.raises(DataError, match="line 1 has the label 'Us', which 'model' does not name"):
        numbering.numbers({"Us": "line 1"}, 2)
