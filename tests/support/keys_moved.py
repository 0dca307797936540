"""What a change of a spec does to the keys of its plan."""

from lnlab.compile.plan import Plan


def keys_moved_by(before: Plan, after: Plan) -> set[str]:
    """The kinds of keys that two plans have not in common: each kind moves as a whole or stays as a whole."""
    moved = set()
    for kind, old, new in ((kind, _keys(before)[kind], _keys(after)[kind]) for kind in _keys(before)):
        assert old, f"the first plan has no key of {kind}"
        assert old == new or not old & new, f"of {kind} some keys move and others stay"
        if old != new:
            moved.add(kind)
    return moved


def _keys(plan: Plan) -> dict[str, set[str]]:
    measured = [each for trajectory in plan.trajectories for each in trajectory.measurements]
    return {
        "variant": set(plan.settings),
        "run": {run.key for run in plan.runs},
        "trajectory": {trajectory.key for trajectory in plan.trajectories},
        "at init": {each.key for each in measured if each.step == 0},
        "later": {each.key for each in measured if each.step > 0},
    }
