"""Sixteen defects that users met, and the tests that keep each of them away."""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DEFECTS = {
    "1 a killed train --overwrite left no model": (
        "cli/test_train.py::test_a_replacement_that_was_killed_leaves_the_old_model_and_goes_on",
        "surrogate/test_artifact.py::test_a_kill_between_any_two_steps_leaves_the_old_model_or_the_new_one",
    ),
    "2 names of fields and parameters collided": ("data/test_runs.py::test_arrays_that_do_not_fit_are_refused",),
    "3 two trainings shared a folder": (
        "cli/test_train.py::test_two_trainings_do_not_share_a_folder",
        "surrogate/test_artifact.py::test_one_process_writes_at_a_time",
    ),
    "4 weights that are not numbers were accepted": (
        "surrogate/test_artifact.py::test_weights_that_are_not_numbers_are_refused",
        "surrogate/test_artifact.py::test_finite_arrays_that_give_no_finite_answer_are_not_answered",
    ),
    "5 chunks that are gone were read as values": (
        "data/test_store.py::test_what_is_missing_is_not_read_as_values",
        "data/test_store.py::test_a_status_that_is_gone_is_noticed",
        "data/test_store.py::test_chunks_that_changed_places_are_noticed",
    ),
    "6 tracebacks of settings and reports": (
        "cli/test_bad_input.py::test_settings_of_another_kind",
        "report/test_page.py::test_damaged_files_are_named",
        "surrogate/test_artifact.py::test_a_manifest_that_is_too_large_or_too_deep_is_refused_at_once",
    ),
    "7 names that are too long": ("cli/test_bad_input.py::test_a_name_that_is_too_long",),
    "8 signals without a word": (
        "cli/test_stopping.py::test_commands_say_how_to_go_on",
        "cli/test_train.py::test_stopped_it_says_how_to_go_on",
        "cli/test_generate.py::test_stopped_it_says_what_is_kept_and_goes_on",
    ),
    "9 Ctrl-C that was swallowed, or told by Dask": (
        "cli/test_stopping.py::test_a_stop_that_a_callback_swallows_comes_again",
        "campaign/test_kill.py::test_ctrl_c_in_a_terminal",
    ),
    "10 a schema of 60 MB in a sentence": (
        "surrogate/test_artifact.py::test_a_manifest_that_is_too_large_or_too_deep_is_refused_at_once",
        "test_failures.py::test_a_sentence_fits_on_a_screen",
    ),
    "11 nine million conditions": ("campaign/test_designs.py::test_mistakes_are_named",),
    "12 memory that ends": (
        "cli/test_limits.py::test_predict_under_limits",
        "cli/test_limits.py::test_a_child_that_ends_without_a_word",
        "test_failures.py::test_memory_ends_whoever_notices",
    ),
    "13 wording": (
        "cli/test_predict.py::test_values_at_points_are_shown",
        "test_failures.py::test_the_system_refuses",
        "test_failures.py::test_a_sentence_fits_on_a_screen",
    ),
    "14 the README's own order": (
        "cli/test_evaluate.py::test_what_was_held_out_is_tested_on",
        "cli/test_evaluate.py::test_folds_over_the_training_runs",
        "test_printed_blocks.py::test_every_block_of_a_page_runs",
    ),
    "15 a first word after seconds": (
        "cli/test_predict.py::test_no_jax_where_none_is_needed",
        "cli/test_predict.py::test_bad_options_are_told_before_anything_heavy",
        "cli/test_bad_input.py::test_a_command_speaks_before_it_imports_anything_heavy",
    ),
    "16 no version, and no info of models": (
        "cli/test_bad_input.py::test_the_version",
        "cli/test_info.py::test_a_model",
    ),
}


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_has_tests(defect):
    for test in DEFECTS[defect]:
        file, _, name = test.partition("::")
        assert name in names_in(file), test
