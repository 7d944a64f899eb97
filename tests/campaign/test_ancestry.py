import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sureflow.campaign.ancestry import ancestry
from sureflow.campaign.campaign import load_campaign

conditions = st.lists(st.tuples(st.integers(10, 30), st.integers(20, 60)), min_size=1, max_size=40, unique=True).map(
    lambda pairs: np.array(sorted(pairs), float)
)


@given(conditions)
def test_every_case_but_one_has_a_parent_before_it(points):
    tree = ancestry(points)
    rank = {case: position for position, case in enumerate(tree.order)}
    roots = [case for case, parent in enumerate(tree.parent) if parent is None]
    assert roots == [tree.order[0]]
    assert all(rank[parent] < rank[case] for case, parent in enumerate(tree.parent) if parent is not None)


@given(conditions)
def test_depth_first_visits_every_case_once_after_its_parent(points):
    tree = ancestry(points)
    visited = tree.depth_first()
    assert sorted(visited) == list(range(len(points)))
    seen = set()
    for case in visited:
        assert tree.parent[case] is None or tree.parent[case] in seen
        seen.add(case)


@given(conditions, st.integers(1, 50))
def test_shards_share_out_all_cases(points, count):
    tree = ancestry(points)
    cases = range(len(points) // 2, len(points))
    pieces = [tree.shard(cases, index, count) for index in range(1, count + 1)]
    assert [case for piece in pieces for case in piece] == [case for case in tree.depth_first() if case in cases]
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1


@given(conditions)
def test_conditions_that_are_added_change_nothing_for_the_others(points):
    added = np.concatenate([points, points - np.array([0.0, 0.5])])
    tree, longer = ancestry(points), ancestry(added)
    assert longer.order[: len(points)] == tree.order
    assert longer.parent[: len(points)] == tree.parent
    rank = {case: position for position, case in enumerate(longer.order)}
    assert all(rank[parent] < rank[case] for case, parent in enumerate(longer.parent) if parent is not None)


def test_the_study_starts_in_the_middle_and_goes_to_neighbors():
    points = load_campaign("paper").table()
    tree = ancestry(points)
    assert points[tree.order[0]].tolist() == [20.0, 40.0]
    steps = np.array(
        [abs(points[case] - points[parent]) for case, parent in enumerate(tree.parent) if parent is not None]
    )
    assert (steps <= [1.0, 2.0]).all()
    assert max(len(list(tree.ancestors(case))) for case in range(len(points))) == 20
