"""One reader of paths for compiler and analysis; depths against what the papers count."""

from pathlib import Path

import pytest

from lnlab.app.request import Request, compile_request
from lnlab.committed.registries import load_registries
from lnlab.keys import canonical
from lnlab.select.settings import SettingTable
from lnlab.select.variants import Variants
from lnlab.setting import DEPTHS, MISSING, Setting, implied_axes


def setting(**stacks):
    return {"model": {"kind": "m", "d_model": 8}, **stacks}


BOTH = setting(encoder={"layers": 5}, decoder={"layers": 7, "cross_attention": True})


def test_two_branches_a_layer_and_three_with_cross_attention():
    """The last is Fixup's 2 N + 3 M."""
    depths = {path: Setting(BOTH).at(f"{path}.sublayers") for path in ("encoder", "decoder", "model")}
    assert depths == {"encoder": 10, "decoder": 21, "model": 31}
    assert Setting(setting(decoder={"layers": 7, "cross_attention": False})).at("model.sublayers") == 14
    known = Setting(setting(encoder={"layers": 5})).paths()
    assert [p for p in known if p in DEPTHS] == ["encoder.sublayers", "model.sublayers"]
    assert not {*Setting(setting()).paths(), "encoder.layers", "model.d_model", "sublayers", "model"} & set(DEPTHS)
    assert implied_axes("model.d_model") == ("model.d_model",)
    assert implied_axes("encoder.sublayers") == ("encoder.sublayers", "encoder.layers", "model.layers")
    assert set(implied_axes("model.sublayers")) >= {"encoder.layers", "decoder.layers", "model.layers"}


def test_a_short_form_reads_the_stacks_that_have_it_and_paths_list_those_of_every_stack():
    assert Setting(BOTH).at("cross_attention") is True
    assert Setting(BOTH).values("model.layers") == [5, 7]
    assert Setting(BOTH).at("model.layers") is MISSING
    assert (
        Setting(setting(encoder={"norm": {"kind": "group", "groups": 4}}, decoder={"norm": {}})).at("norm.groups") == 4
    )
    assert Setting(setting()).values("norm") == []
    known = Setting(setting(encoder={"norm": {"eps": 1}}, decoder={"norm": {"groups": 2}})).paths()
    assert {"norm", "norm.eps", "norm.groups", "decoder.norm.groups"} <= set(known)
    assert len(known) == len(set(known))
    assert "cross_attention" not in known


def test_null_asks_for_what_is_absent_and_not_for_stacks_that_disagree():
    three = [setting(encoder={"layers": 5}, decoder={"layers": 7}), setting(), setting(encoder={"layers": 5})]
    assert Variants(three).having("model.layers", None) == {1}
    assert table_of(three).where({"model.layers": None})["variant"].to_list() == ["1"]


def table_of(settings):
    return SettingTable({str(number): Setting(each) for number, each in enumerate(settings)})


SPECS = sorted((Path(__file__).parents[1] / "specs").glob("*.yaml"))


@pytest.mark.parametrize(
    "spec",
    [pytest.param(path, id=path.stem, marks=() if n % 4 == 0 else pytest.mark.torture) for n, path in enumerate(SPECS)],
)
def test_compiler_and_analysis_read_every_path_of_a_shipped_spec_alike(spec):
    plan, _ = compile_request(Request(spec, "smoke"), load_registries(()), assume_data=True)
    settings = list(plan.settings.values())[:12]
    variants = Variants(settings)
    table = table_of(settings)
    for path in variants.paths:
        conditions = {canonical(condition): condition for condition in (None, "none")}
        for number, each in enumerate(settings):
            values = Setting(each).values(path)
            conditions |= {canonical(value): value for value in values}
            assert [value for value, those in variants.at(path) if number in those] == (
                values if len(values) == 1 else []
            )
        for condition in conditions.values():
            meeting = {int(variant) for variant in table.where({path: condition})["variant"]}
            assert meeting == variants.having(path, condition), (path, condition)
