"""`airenv report`: the page about a run, its figures and its replays."""

import base64
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import yaml
from rich.console import Console

import airenv
from airenv.replay import final_state, load_replay
from experiments import plots, report
from experiments.configs import BadConfig
from experiments.pages import points
from experiments.playing import run_of
from experiments.ratings import rate
from experiments.results import BadResults, Results
from experiments.tournament import outcomes
from experiments.units import Unit, play_unit

NAME = airenv.game_names()[0]
FEWEST, MORE = sorted(airenv.facts(NAME).players)[:2]
AGENTS = ("greedy", "random", "greedy:epsilon=0.5")
NASTY = "<b>bold</b> & \"quoted\" 'too' $x^2$"
VOID = {"meta", "img", "br", "link", "input", "hr"}


def played(players=FEWEST, deals=3, agents=AGENTS):
    """Some agents in turn at every seat of a table."""
    line_ups = [[agents[(seat + turn) % len(agents)] for seat in range(players)] for turn in range(len(agents))]
    options = (("players", players),)
    return [play_unit(Unit(NAME, options, tuple(line), deal)) for deal in range(deals) for line in line_ups]


def keep(folder, rows, config=(("kind", "tournament"), ("name", "small"))):
    """A run's folder with these games in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(dict(config)))
    (folder / "versions.json").write_text(json.dumps({"airenv": "0.1.0", "git": "0123456789abcdef"}))
    with Results(folder / "results.sqlite") as results:
        results.add(run_of(dict(config)), rows)
    return folder


def learn(folder):
    """What a run of learning leaves, without its networks."""
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump({"kind": "ppo", "name": "learner", "game": NAME}))
    metrics = [{"decisions": 100 * n, "seconds": 6.0 * n, "entropy_loss": -1 / n, "value_loss": 0.5} for n in (1, 2, 3)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metrics))
    score = {"agent": "learner", "field": "greedy", "players": FEWEST, "games": 8}
    shares = [(100, 0.25), (300, 0.75)]
    looks = [
        {"decisions": at, "scores": [{**score, "share": share, "low": share - 0.2, "high": share + 0.2}]}
        for at, share in shares
    ]
    (folder / "evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in looks))
    return folder


def write(folder):
    return report.write_report(Console(quiet=True), folder).read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Reads a page: its elements, its words, and whether every element that is opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.sources, self.ids, self.words = Counter(), [], [], [], ""
        self._open = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags[tag] += 1
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        self.sources += [(found["src"], found["alt"])] if tag == "img" else []
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words += data if not self._open or self._open[-1] != "style" else ""


@pytest.fixture(scope="module")
def rows():
    return played()


@pytest.fixture(scope="module")
def run(rows, tmp_path_factory):
    return keep(tmp_path_factory.mktemp("runs") / "small", rows)


@pytest.fixture(scope="module")
def page(run):
    return write(run)


def test_a_page_has_a_part_for_all_there_is_to_know_of_a_table(page, rows):
    seen = Reader(page)
    slug = f"{report.pages.slug(NAME)}-{FEWEST}"
    parts = ["ladder", "pairs", "seats", "length-and-scores", "actions", "games-to-look-at"]
    assert set(seen.ids) >= {slug, "errors", "about-this-run"} | {f"{slug}-{part}" for part in parts}
    for told in (f"{len(rows)} games of {len(AGENTS)} agents", "No agent crashed", "likelihood of superiority"):
        assert told in seen.words
    assert (
        "airenv tournament" in seen.words and "name=small-again" in seen.words and "commit 0123456789ab" in seen.words
    )
    assert "All tables together" not in seen.words


def test_the_ladder_of_a_page_is_that_of_the_ratings(page, rows):
    ladder = re.search(r'aria-label="rating ladder">(.*?)</table>', page, re.DOTALL)[1]
    lines = [re.sub(r"<[^>]+>", " ", line).split() for line in re.findall(r"<tr>(.*?)</tr>", ladder, re.DOTALL)[1:]]
    expected = rate(outcomes(rows))
    assert [line[:2] for line in lines] == [[r.agent, points(r.rating)] for r in expected]
    assert [line[5] for line in lines] == [str(r.games) for r in expected]
    assert sum(int(line[5]) for line in lines) == FEWEST * len(rows)


def test_a_page_loads_nothing_from_anywhere(page):
    seen = Reader(page)
    assert seen.sources and all(source.startswith("data:image/png;base64,") for source, _ in seen.sources)
    assert all(link.startswith(("#", "replays/")) for link in seen.links)
    assert not {"script", "link", "iframe", "object"} & set(seen.tags)
    assert "url(" not in page.replace("url(#", "") and "@import" not in page
    assert not re.findall(r'https?://(?!www\.w3\.org/)[^\s"<]*', page)


def test_every_picture_of_a_page_says_what_it_shows_and_lies_beside_it(run, page):
    files = {path.read_bytes() for path in (run / "report").glob("*.png")}
    seen = Reader(page)
    assert all(alt for _, alt in seen.sources)
    assert {base64.b64decode(source.partition(",")[2]) for source, _ in seen.sources} == files
    assert all(data.startswith(b"\x89PNG") for data in files)
    assert seen.tags["svg"] == 1 and "How the closest game ended" in seen.words


def test_headings_have_anchors_of_their_own_and_the_contents_lead_to_them(page):
    seen = Reader(page)
    assert len(set(seen.ids)) == len(seen.ids)
    assert {link[1:] for link in seen.links if link.startswith("#")} <= set(seen.ids)


def test_the_replays_of_a_page_are_there_and_hold(run, page):
    links = [link for link in Reader(page).links if link.startswith("replays/")]
    assert len(links) == len(set(links)) == 2 * report.REMARKABLE
    for link in links:
        assert final_state(load_replay(run / "report" / link))
        assert f"airenv replay {run / 'report' / link}" in page


def test_a_page_can_be_read_on_a_telephone(page):
    assert '<meta name="viewport" content="width=device-width' in page and "prefers-color-scheme: dark" in page
    assert page.count("<table>") == len(re.findall(r'<div class="box"[^>]*><table>', page))


def test_several_tables_get_a_part_each_and_a_ladder_over_all(rows, tmp_path):
    seen = Reader(write(keep(tmp_path / "both", [*rows, *played(MORE, 2)])))
    slugs = [f"{report.pages.slug(NAME)}-{players}" for players in (FEWEST, MORE)]
    assert {"all", "all-ladder", "all-lottery-and-alpha-rank", *slugs} <= set(seen.ids)
    assert "Each table votes" in seen.words and seen.tags["svg"] == 2
    names = {path.name for path in (tmp_path / "both" / "report").glob("ladder-*.png")}
    assert names == {"ladder-all.png", *(f"ladder-{slug}.png" for slug in slugs)}


def test_whatever_comes_from_outside_is_escaped(rows, tmp_path):
    changed = []
    for row in rows:
        agents = tuple(NASTY if agent == "random" else agent for agent in row.agents)
        failed = {"errors": ("crash", *row.errors[1:]), "message": "<script>alert(1)</script>"} if row.deal == 0 else {}
        changed.append(replace(row, agents=agents, options={**row.options, "board": "<u>"}, **failed))
    page = write(keep(tmp_path / "nasty", changed, {"kind": "tournament", "name": "</title><i>", "anchor": NASTY}))
    seen = Reader(page)
    assert not {"b", "i", "u", "script"} & set(seen.tags) and seen.tags["title"] == 1
    for told in (NASTY, "<script>alert(1)</script>", "board <u>", "airenv: </title><i>"):
        assert told in seen.words


def test_the_faults_of_agents_are_told(rows, tmp_path):
    broken = [replace(row, errors=("timeout", *row.errors[1:]), message="too slow") for row in rows if row.deal == 0]
    page = write(keep(tmp_path / "faulty", [*broken, *(row for row in rows if row.deal)]))
    told = re.search(r'aria-label="errors">(.*?)</table>', page, re.DOTALL)[1]
    assert told.count("<tr>") == 1 + len({row.agents[0] for row in broken})
    assert "timeout" in told and "too slow" in told and "No agent crashed" not in page


def test_a_run_of_nothing_but_faults_is_reported(rows, tmp_path):
    broken = [replace(row, errors=("crash", *row.errors[1:]), message="always") for row in rows]
    seen = Reader(write(keep(tmp_path / "faults", broken)))
    assert "Every game was cut short" in seen.words and seen.tags["svg"] == 0


def test_learning_is_shown_by_curves_in_any_run_that_names_it(rows, tmp_path):
    folder = learn(tmp_path / "learner")
    alone = Reader(write(folder))
    assert "Learning: learner" in alone.words and "airenv train" in alone.words
    named = {"kind": "tournament", "name": "small", "learning": [str(folder), str(tmp_path / "gone")]}
    both = Reader(write(keep(tmp_path / "small", rows, named)))
    assert "Learning: learner" in both.words and str(tmp_path / "gone") in both.words
    for where in (folder, tmp_path / "small"):
        assert {"learning-1.png", "learning-1-losses.png"} <= {path.name for path in (where / "report").iterdir()}


def test_curves_and_losses_are_those_of_the_files(tmp_path):
    (learning,) = report.read_run(learn(tmp_path / "learner")).learning
    (curve,) = learning.curves
    assert (curve.opponent, curve.players) == ("greedy", FEWEST)
    assert (curve.decisions, curve.shares, curve.high) == ((100, 300), (0.25, 0.75), (0.45, 0.95))
    assert learning.losses == {"entropy": [1.0, 1 / 2, 1 / 3], "value loss": [0.5, 0.5, 0.5]}


def test_a_row_cut_short_by_a_kill_is_left_out_and_a_broken_one_is_an_error(tmp_path):
    folder = learn(tmp_path / "learner")
    file = folder / "metrics.jsonl"
    file.write_text(file.read_text() + '{"decisions": 4')
    assert len(report.read_run(folder).learning[0].metrics) == 3
    file.write_text('{"decisions": 4\n' + file.read_text())
    with pytest.raises(report.BadRun, match=r"metrics\.jsonl, line 1"):
        report.read_run(folder)


def test_games_of_other_runs_in_the_same_results_are_left_out(rows, tmp_path):
    shared = tmp_path / "shared.sqlite"
    with Results(shared) as results:
        results.add(run_of({"name": "mine"}), rows[:4])
        results.add(run_of({"name": "yours"}), rows[4:])
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump({"kind": "tournament", "name": "mine", "results": str(shared)}))
    found = report.read_run(folder)
    assert {row.unit for row in found.rows} == {row.unit for row in rows[:4]}
    assert "results=null" in report.repeat_command(found)


def test_replays_that_no_longer_hold_are_told_and_not_linked(rows, tmp_path):
    old = [replace(row, replay=json.dumps({**json.loads(row.replay), "rules": 999})) for row in rows[:-1]]
    seen = Reader(write(keep(tmp_path / "old", [*old, replace(rows[-1], replay="")])))
    assert f"{len(rows)} others could not be played again" in seen.words and "cannot be played again" in seen.words
    assert not [link for link in seen.links if link.startswith("replays/")]


def test_kinds_of_actions_add_up_to_the_decisions(rows):
    counts, failed = report.usage(rows, limit=4)
    expected = Counter()
    for row in rows[:4]:
        for agent, decisions in zip(row.agents, row.decisions, strict=True):
            expected[agent] += decisions
    assert not failed and {agent: kinds.total() for agent, kinds in counts.items()} == expected
    assert set().union(*counts.values()) <= set(airenv.game(NAME).action_kinds)


def test_games_are_close_by_lead_or_where_leads_are_alike_by_length(rows):
    leads = [5.0, 1.0, 3.0, 9.0]
    by_lead = [
        replace(row, scores=(lead, *[0.0] * (FEWEST - 1))) for row, lead in zip(rows[: len(leads)], leads, strict=True)
    ]
    how, closest, lopsided = report.remarkable(by_lead)
    assert how == "lead"
    assert [row.scores[0] for row in closest] == [1.0, 3.0] and [row.scores[0] for row in lopsided] == [9.0, 5.0]
    by_length = [
        replace(row, decisions=(int(lead), *[0] * (FEWEST - 1))) for row, lead in zip(rows, leads, strict=False)
    ]
    how, closest, lopsided = report.remarkable([replace(row, scores=(1.0, *[0.0] * (FEWEST - 1))) for row in by_length])
    assert how == "length"
    assert [row.decisions[0] for row in closest] == [9, 5] and [row.decisions[0] for row in lopsided] == [1, 3]
    how, closest, lopsided = report.remarkable(by_lead[:1])
    assert closest == by_lead[:1] and not lopsided


def test_an_earlier_report_leaves_nothing_behind(rows, tmp_path):
    folder = keep(tmp_path / "small", rows[:2])
    write(folder)
    for name in ("old.png", "replays/old.json"):
        (folder / "report" / name).write_text("")
    (folder / "report" / "notes.txt").write_text("mine")
    write(folder)
    left = {path.name for path in (folder / "report").rglob("*") if path.is_file()}
    assert not {"old.png", "old.json"} & left and {"notes.txt", "report.html"} <= left
    assert not [name for name in left if name.startswith(".")]


@pytest.mark.parametrize("files", [[], ["versions.json"]])
def test_a_folder_that_is_no_run_is_refused(files, tmp_path):
    for name in files:
        (tmp_path / name).write_text("{}")
    with pytest.raises(report.BadRun, match=r"is no run: it holds none of config\.yaml"):
        write(tmp_path)
    with pytest.raises(report.BadRun, match="there is no folder"):
        write(tmp_path / "nowhere")
    assert not (tmp_path / "report").exists()


def test_a_run_without_games_is_refused(tmp_path):
    with pytest.raises(report.BadRun, match="nothing to report yet: no game of small"):
        write(keep(tmp_path / "small", []))
    (tmp_path / "small" / "results.sqlite").unlink()
    with pytest.raises(report.BadRun, match="nothing to report yet"):
        write(tmp_path / "small")
    assert not (tmp_path / "small" / "report").exists()


def test_broken_files_of_a_run_are_clear_errors(rows, tmp_path):
    folder = keep(tmp_path / "small", rows[:2])
    (folder / "versions.json").write_text("[")
    with pytest.raises(report.BadRun, match=r"versions\.json cannot be read"):
        write(folder)
    (folder / "config.yaml").write_text("[")
    with pytest.raises(BadConfig, match="is no YAML"):
        write(folder)
    (folder / "config.yaml").unlink()
    (folder / "results.sqlite").write_text("no database at all, but long enough to be looked at" * 20)
    with pytest.raises(BadResults, match="cannot be used for results"):
        write(folder)


def test_colours_stay_with_their_agents_and_begin_again_with_another_marker():
    many = [f"agent {n}" for n in range(2 * len(plots.COLOURS))]
    found = plots.inks([*many, *many[:3]])
    assert list(found) == many and len(set(found.values())) == len(many)
    assert found[many[0]].colour == found[many[len(plots.COLOURS)]].colour
    assert plots.inks(many[:5]) == {agent: found[agent] for agent in many[:5]}


def test_a_name_in_a_figure_is_short_and_no_formula():
    assert plots.short("greedy") == "greedy" and plots.short("a\nb") == "a b"
    assert plots.short("ppo:runs/a-very-long-name-of-a-run/best").startswith("ppo:runs/")
    assert len(plots.short("x" * 99)) <= plots.LONGEST_NAME and plots.short("$x$") == r"\$x\$"
