"""Files of judges: nothing is lost or doubled, stale verdicts do not count, and nobody sees a
verdict before their own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.judging.records import (
    ItemContent,
    JudgeExample,
    JudgeIncident,
    Judgement,
    JudgeSetup,
    serialize_record,
)
from fcreview.model.review import Annotation
from fcreview.store.filters.parser import FilterError
from fcreview.store.judgements import (
    JudgeFileError,
    get_judge_path,
    list_judges,
    merge_judges,
    open_judge_writer,
    read_judge,
)
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.store.factory import Imported, import_items

SETUP = JudgeSetup(
    source="command",
    address="judge",
    model="",
    criterion="correct",
    template="{{predicted}}",
    prompt_hash="12",
)


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "runs", {"maple-8b": [{} for _ in range(4)]})


def make_verdict(
    content: ItemContent, verdict: bool = True, setup: JudgeSetup = SETUP
) -> Judgement:
    return Judgement(
        setup.id,
        content=content,
        criterion="correct",
        verdict=verdict,
        rationale="zork",
        model="oak",
        prompt_hash=setup.prompt_hash,
        time="2026-01-01T00:00:00Z",
    )


def list_contents(workspace: Workspace) -> list[ItemContent]:
    with Store.open(workspace, "ann") as store:
        items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 100)]
        contents = store.judgements.fetch_contents(items)
    return [contents[item] for item in items]


def write_verdicts(
    workspace: Workspace, *verdicts: bool, setup: JudgeSetup = SETUP, name: str = "oak"
) -> None:
    contents = list_contents(workspace)
    with open_judge_writer(workspace, name) as writer:
        writer.append(setup)
        for content, verdict in zip(contents, verdicts, strict=False):
            writer.append(make_verdict(content, verdict, setup))


def review(workspace: Workspace, number: int, annotator: str, verdict: bool) -> None:
    content = list_contents(workspace)[number]
    Journal(workspace, annotator).append(
        content.key,
        Annotation(verdict=verdict),
        prediction_hash=content.prediction_hash,
        golden_hash=content.golden_hash,
    )


def test_line_that_a_crash_cut_is_skipped_and_ended(workspace: Workspace) -> None:
    write_verdicts(workspace, True, False)
    path = get_judge_path(workspace, "oak")
    complete = path.read_bytes()
    third = make_verdict(list_contents(workspace)[2])
    for cut in range(1, len(complete) - complete.index(b"\n")):
        path.write_bytes(complete[:-cut])
        n_before = len(read_judge(workspace, "oak").verdicts)
        if cut % 50 != 1:
            continue
        with open_judge_writer(workspace, "oak") as writer:
            writer.append(third)
        assert len(read_judge(workspace, "oak").verdicts) == n_before + 1
        path.write_bytes(complete)


def test_lines_of_another_setup_do_not_count(workspace: Workspace) -> None:
    write_verdicts(workspace, True)
    other = replace(SETUP, model="elm")
    write_verdicts(workspace, True, False, True, setup=other)
    judge = read_judge(workspace, "oak")
    assert len(judge.verdicts) == 1
    assert len(judge.warnings) == 3


def test_first_verdict_on_an_item_counts(workspace: Workspace) -> None:
    write_verdicts(workspace, True)
    content = list_contents(workspace)[0]
    with open_judge_writer(workspace, "oak") as writer:
        writer.append(make_verdict(content, False))
    assert [each.verdict for each in read_judge(workspace, "oak").verdicts.values()] == [True]


def test_one_process_writes_at_a_time(workspace: Workspace) -> None:
    with (
        open_judge_writer(workspace, "oak"),
        pytest.raises(JudgeFileError, match="another process"),
        open_judge_writer(workspace, "oak"),
    ):
        pass


def test_link_is_neither_read_nor_written(workspace: Workspace, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(serialize_record(SETUP))
    folder = workspace.root / "judgements"
    folder.mkdir()
    (folder / "oak.jsonl").symlink_to(secret)
    judge = read_judge(workspace, "oak")
    assert judge.setup is None
    assert "symbolic link" in judge.warnings[0]
    with pytest.raises(Exception, match="symbolic link"), open_judge_writer(workspace, "oak"):
        pass
    (folder / "oak.jsonl").unlink()
    (folder / "..bad.jsonl").write_bytes(b"")
    assert list_judges(workspace) == []


def test_incident_is_no_verdict(workspace: Workspace) -> None:
    content = list_contents(workspace)[0]
    with open_judge_writer(workspace, "oak") as writer:
        writer.append(SETUP)
        writer.append(JudgeIncident(SETUP.id, content=content, kind="timeout", text="", time=""))
    judge = read_judge(workspace, "oak")
    assert (len(judge.incidents), len(judge.verdicts)) == (1, 0)
    with Store.open(workspace, "ann", shows_judges=True) as store:
        assert store.judgements.names == []


def test_verdict_is_stale_after_the_answer_changed(workspace: Workspace) -> None:
    write_verdicts(workspace, True, True)
    changed = [{"prediction_hash": "new"}, {}, {}, {}]
    import_items(workspace.parent_folder, {"maple-8b": changed})
    with Store.open(workspace, "ann", shows_judges=True) as store:
        judgements = store.judgements.fetch(range(2**32, 2**32 + 4))
        rows = store.run_sql("SELECT id, stale FROM judgements ORDER BY id").rows
        assert list(judgements) == [2**32 + 1]
    assert rows == [("simple_0", True), ("simple_1", False)]


def test_verdict_is_hidden_until_the_own_verdict(workspace: Workspace) -> None:
    write_verdicts(workspace, True, False, True)
    review(workspace, 0, "ann", True)
    review(workspace, 1, "bob", True)

    def list_visible(store: Store) -> list[int]:
        rows = store.fetch_page(View(queue="dataset"), 0, 10)
        details = store.read_details([row.item for row in rows])
        seen = [index for index, detail in enumerate(details) if detail.judgements]
        assert sorted(store.fetch_visible_judgements(rows)) == [rows[index].item for index in seen]
        if not store.blind:
            found = store.fetch_page(View("judgement:any", queue="dataset"), 0, 10)
            assert [row.item for row in found] == [rows[index].item for index in seen]
            assert store.count_items(View("judgement:none", queue="dataset")) == 4 - len(seen)
            pairs = store.analysis.fetch_verdict_pairs(View())
            measured = {pair.item for pair in pairs if pair.judge == "oak (fcreview)"}
            labelled = {rows[0].item, rows[1].item}
            assert measured == labelled & {rows[index].item for index in seen}
        return seen

    with Store.open(workspace, "ann") as store:
        assert list_visible(store) == [0]
        assert store.judgements.count_hidden_labelled_items() == 1
    with Store.open(workspace, "ann", blind=True, shows_judges=True) as store:
        assert list_visible(store) == [0]
        with pytest.raises(FilterError, match="reveals verdicts"):
            store.count_items(View("judgement:pass"))
    with Store.open(workspace, "dora") as store:
        assert list_visible(store) == []
    with Store.open(workspace, "dora", shows_judges=True) as store:
        assert list_visible(store) == [0, 1, 2]
        assert store.count_items(View("judgement:oak=fail")) == 1
        assert store.count_items(View("judgement:elm=fail")) == 0
        with pytest.raises(FilterError, match="use pass, fail"):
            store.count_items(View("judgement:maybe"))


def test_no_figure_and_no_override_contains_the_verdicts(workspace: Workspace) -> None:
    with Store.open(workspace, "ann", shows_judges=True) as store:
        before = store.fetch_runs()
        rows_before = store.fetch_page(View(queue="dataset"), 0, 10)
    write_verdicts(workspace, True, True, True, True)
    with Store.open(workspace, "ann", shows_judges=True) as store:
        assert store.fetch_runs() == before
        assert store.fetch_page(View(queue="dataset"), 0, 10) == rows_before
        assert store.count_items(View("judge:any")) == 0
        item = rows_before[0].item
        (overridden,) = store.find_overridden_verdicts([(item, Annotation(verdict=True))])
        assert overridden is not None
        assert overridden["source"] == "official"


def test_examples_do_not_measure_the_judge(workspace: Workspace) -> None:
    contents = list_contents(workspace)
    setup = replace(SETUP, examples=(JudgeExample(contents[0], verdict=True),))
    write_verdicts(workspace, True, False, setup=setup)
    for number in (0, 1):
        review(workspace, number, "ann", True)
    with Store.open(workspace, "ann") as store:
        pairs = store.analysis.fetch_verdict_pairs(View())
        rows = store.fetch_page(View(queue="dataset"), 0, 10)
    judged = [pair.item for pair in pairs if pair.judge]
    assert judged == [rows[1].item]


def test_merge_adds_what_is_new_once(
    workspace: Workspace, imported: Imported, tmp_path: Path
) -> None:
    other = imported(tmp_path / "other", {"maple-8b": [{} for _ in range(4)]})
    write_verdicts(workspace, True)
    write_verdicts(other, False, True)
    write_verdicts(other, False, setup=replace(SETUP, model="elm"), name="elm")
    first = {each.judge: each for each in merge_judges(workspace, other)}
    assert (first["oak"].new, first["oak"].known) == (1, 1)
    assert (first["elm"].new, first["elm"].kept_as) == (1, "elm")
    before = get_judge_path(workspace, "oak").read_bytes()
    assert [each.new for each in merge_judges(workspace, other)] == [0, 0]
    assert get_judge_path(workspace, "oak").read_bytes() == before
    verdicts = read_judge(workspace, "oak").verdicts.values()
    assert [each.verdict for each in verdicts] == [True, True]


def test_merge_keeps_another_setup_under_its_own_name(
    workspace: Workspace, imported: Imported, tmp_path: Path
) -> None:
    other = imported(tmp_path / "other", {"maple-8b": [{} for _ in range(4)]})
    write_verdicts(workspace, True)
    write_verdicts(other, False, setup=replace(SETUP, template="{{response}}"))
    for expected in (1, 0):
        (merged,) = merge_judges(workspace, other)
        assert merged.new == expected
        assert merged.kept_as != "oak"
    assert len(list_judges(workspace)) == 2
