"""A report as one HTML page: everything within it, nothing loaded from anywhere, readable on a telephone.

Whatever comes from outside is a plain str and is escaped where it enters the page; only what is Html already is not.
"""

from __future__ import annotations

import base64
import html
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.plots import Ink, Inks
from experiments.populations import Across
from experiments.ratings import Pair, Rating, SeatRow

MOST_NESTED = 4  # sections whose parts are named in the table of contents
STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #20272f; --soft: #5b6672; --line: #dcdfe3; --link: #0a5c8f;
  --band: #f2f4f5; --card: #fff; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #e4e8ec; --soft: #a0abb6; --line: #333b44;
  --link: #7cc0ee; --band: #1c2228; --card: #e9ebec; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 67rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 .25rem; }
h2 { font-size: 1.35rem; line-height: 1.25; margin: 3rem 0 .75rem; padding-top: .75rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
h2 a, h3 a { color: inherit; text-decoration: none; }
h2 a:hover::after, h3 a:hover::after { content: " #"; color: var(--soft); }
a { color: var(--link); }
p { margin: .6rem 0; max-width: 42rem; }
p.lead { font-size: 1.1rem; }
.soft, figcaption, caption { color: var(--soft); font-size: .9rem; }
nav ul { padding-left: 1.1rem; margin: .5rem 0; }
nav li { margin: .2rem 0; }
nav li span { color: var(--soft); font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: .875em/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
.box { overflow-x: auto; max-width: 100%; margin: .75rem 0; border: 1px solid var(--line); border-radius: 6px; }
.box:focus-visible { outline: 2px solid var(--link); }
pre { margin: 0; padding: .75rem 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th { font-weight: 600; white-space: normal; background: var(--band); vertical-align: bottom; }
th.words, td.words { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
th:first-child { background: var(--band); }
.name { display: inline-flex; align-items: baseline; width: max-content; max-width: 15rem; white-space: normal; }
.prose { display: inline-block; width: max-content; max-width: 26rem; white-space: normal; overflow-wrap: anywhere; }
.dot { flex: none; width: .7em; height: .7em; border-radius: 50%; margin-right: .45em;
  outline: 1px solid #8888; }
.dot.s, .dot.D { border-radius: 0; }
.dot.D { transform: rotate(45deg) scale(.85); }
figure { margin: 1rem 0; }
figure img, figure svg { display: block; width: 40rem; max-width: 100%; height: auto; border-radius: 6px; }
figure img { background: var(--card); border: 1px solid var(--line); }
figure .box { width: fit-content; }
figure .box img { border: 0; }
figure.wide .box img { max-width: none; width: 56rem; }
figcaption { margin-top: .35rem; max-width: 42rem; }
details { margin: .75rem 0; }
summary { cursor: pointer; color: var(--link); }
@media (prefers-color-scheme: dark) { figure img { filter: brightness(.92); } }
@media (max-width: 30rem) { body { padding-top: .75rem; } th, td { padding: .35rem .5rem; }
  .name { max-width: 10rem; } .prose { max-width: 17rem; } dl { gap: .25rem .75rem; font-size: .95rem; } }
@media print { details { display: block; } .box { overflow: visible; } }
"""


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


@dataclass(frozen=True)
class Part:
    """A heading and what stands under it."""

    title: str
    body: Html
    parts: tuple[Part, ...] = ()
    anchor: str = field(default="")

    @property
    def id(self) -> str:
        return self.anchor or slug(self.title)


def slug(text: str) -> str:
    """A text as an anchor or a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def text(value: object) -> Html:
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def joined(*parts: object) -> Html:
    return Html("\n".join(text(part) for part in parts if part != ""))


def paragraph(*words: object, kind: str = "") -> Html:
    return Html(f"<p{f' class={kind!r}' if kind else ''}>{' '.join(text(word) for word in words)}</p>")


def code(value: object) -> Html:
    return Html(f"<code>{text(value)}</code>")


def link(address: str, words: object) -> Html:
    return Html(f'<a href="{html.escape(address)}">{text(words)}</a>')


def block(value: str, label: str) -> Html:
    return _box(Html(f"<pre>{text(value)}</pre>"), label)


def folded(summary: str, body: Html) -> Html:
    return Html(f"<details><summary>{text(summary)}</summary>\n{body}</details>")


def facts(rows: Mapping[str, object]) -> Html:
    return Html(
        "<dl>" + "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in rows.items()) + "</dl>"
    )


def bullets(items: Sequence[object]) -> Html:
    return Html("<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>")


def agent(name: str, inks: Inks) -> Html:
    """An agent's line with its colour before it."""
    ink = inks.get(name, Ink("transparent", ""))
    dot = f'<span class="dot {ink.marker}" style="background:{ink.colour}"></span>'
    return Html(f'<span class="name">{dot}{code(name)}</span>')


def picture(png: bytes, alt: str, caption: str = "", wide: bool = False) -> Html:
    """An image within the page; a wide one scrolls in a box of its own."""
    data = base64.b64encode(png).decode()
    image = Html(f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{data}">')
    told = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    if wide:
        return Html(f'<figure class="wide">{_box(image, alt)}{told}</figure>')
    return Html(f"<figure>{image}{told}</figure>")


def drawing(svg: str, alt: str, caption: str, prefix: str) -> Html:
    """An SVG picture within the page; its ids get a prefix, as those of several pictures may be the same."""
    named = re.sub(r"""(\bid=["']|href=["']#|url\(#)""", rf"\g<1>{prefix}-", svg)
    opened = named.replace("<svg ", f'<svg role="img" aria-label="{html.escape(alt)}" ', 1)
    return Html(f"<figure>{opened}<figcaption>{text(caption)}</figcaption></figure>")


def _box(body: Html, label: str) -> Html:
    """Something that may be wider than the page: it scrolls by itself, by finger or by key."""
    return Html(f'<div class="box" tabindex="0" role="region" aria-label="{html.escape(label)}">{body}</div>')


def table(label: str, columns: Sequence[str], rows: Sequence[Sequence[object]], words: Sequence[int] = (0,)) -> Html:
    """A table in a box of its own; the columns in `words` hold texts, all others figures."""
    kinds = [' class="words"' if number in words else "" for number in range(len(columns))]
    head = "".join(f'<th scope="col"{kind}>{text(name)}</th>' for kind, name in zip(kinds, columns, strict=True))
    lines = []
    for row in rows:
        cells = (f"<td{kind}>{text(value)}</td>" for kind, value in zip(kinds, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return _box(Html(f"<table><thead><tr>{head}</tr></thead><tbody>\n{chr(10).join(lines)}\n</tbody></table>"), label)


# -- tables of ratings ---------------------------------------------------------------------------------


def points(value: float) -> str:
    """Points of rating, with a sign unless they are none."""
    return f"{value:+,.0f}" if round(value) else "0"


def percent(value: float) -> str:
    return f"{value:.1%}"


def span(low: float, high: float, show: Callable[[float], str] = percent) -> str:
    return f"{show(low)} to {show(high)}"


def ladder_table(ratings: Sequence[Rating], inks: Inks, with_scores: bool) -> Html:
    """The ladder in figures; scores are left out where they are of several games."""
    columns: dict[str, Callable[[Rating], object]] = {
        "agent": lambda r: agent(r.agent, inks),
        "rating": lambda r: points(r.rating),
        "95% interval": lambda r: span(r.low, r.high, points),
        "seats": lambda r: f"{r.games:,}",
        "wins": lambda r: percent(r.wins),
        "interval of wins": lambda r: span(r.win_low, r.win_high),
        "fair share": lambda r: percent(r.fair),
        "mean rank": lambda r: f"{r.mean_rank:.2f}",
        "mean score": lambda r: f"{r.mean_score:,.2f}",
        "ms a move": lambda r: f"{r.ms_per_move:.3g}",
        "errors": lambda r: f"{r.errors:,}",
    }
    if not with_scores:
        del columns["mean score"]
    return table("rating ladder", list(columns), [[show(r) for show in columns.values()] for r in ratings])


def pair_table(pairs: Sequence[Pair], order: Sequence[str], inks: Inks) -> Html:
    """Every pair once, the better rated agent first."""
    place = {name: number for number, name in enumerate(order)}
    rows = []
    for p in sorted(pairs, key=lambda p: (place[p.agent], place[p.other])):
        if place[p.agent] < place[p.other]:
            figures = (f"{p.games:,}", percent(p.share), span(p.low, p.high), percent(p.superiority))
            rows.append([agent(p.agent, inks), agent(p.other, inks), *figures])
    columns = ["agent", "against", "games", "came before", "95% interval", "likelihood of superiority"]
    return table("pairs of agents", columns, rows, words=(0, 1))


def seats_table(rows: Sequence[SeatRow]) -> Html:
    shown = [[f"seat {r.seat}", f"{r.games:,}", percent(r.wins), span(r.low, r.high), percent(r.fair)] for r in rows]
    return table("wins by seat", ["seat", "games", "wins", "95% interval", "fair share"], shown)


def chances_table(found: Across, inks: Inks) -> Html:
    """What the lottery and alpha-rank give each agent."""
    chances = zip(found.agents, found.lottery, found.alpha_rank, strict=True)
    ordered = sorted(chances, key=lambda row: (-row[1], -row[2]))
    rows = [[agent(name, inks), percent(lottery), percent(alpha)] for name, lottery, alpha in ordered]
    return table("lottery and alpha-rank", ["agent", "maximal lottery", "alpha-rank"], rows)


def errors_table(counts: Counter[tuple[str, str, str, str]], inks: Inks) -> Html:
    """Faults, counted by agent, kind, game and message."""
    rows = [
        [agent(name, inks), fault, f"{number:,}", game, Html(f'<span class="prose">{text(message)}</span>')]
        for (name, fault, game, message), number in counts.most_common()
    ]
    return table("errors", ["agent", "fault", "games", "game", "message"], rows, words=(0, 1, 3, 4))


def usage_table(usage: Mapping[str, Mapping[str, float]], decisions: Mapping[str, int], inks: Inks) -> Html:
    kinds = list(dict.fromkeys(kind for shares in usage.values() for kind in shares))
    rows = [
        [agent(name, inks), f"{decisions[name]:,}", *(percent(shares.get(kind, 0.0)) for kind in kinds)]
        for name, shares in usage.items()
    ]
    return table("kinds of actions", ["agent", "decisions", *kinds], rows)


# -- the page ------------------------------------------------------------------------------------------


def page(title: str, top: Html, parts: Sequence[Part]) -> str:
    """The whole page: what stands on top, a table of contents, then part after part."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{text(title)}</h1>\n{top}\n</header>\n{_contents(parts)}\n<main>\n"
        f"{joined(*(_section(part) for part in parts))}\n</main>\n</body>\n</html>\n"
    )


def _contents(parts: Sequence[Part]) -> Html:
    nested = sum(bool(part.parts) for part in parts) <= MOST_NESTED
    items = []
    for part in parts:
        inner = ", ".join(link(f"#{part.id}-{p.id}", p.title.lower()) for p in part.parts) if nested else ""
        items.append(f"<li>{link(f'#{part.id}', part.title)}{f'<br><span>{inner}</span>' if inner else ''}</li>")
    return Html(f'<nav aria-label="contents"><ul>{"".join(items)}</ul></nav>')


def _section(part: Part) -> Html:
    inner = (f"{_heading(3, f'{part.id}-{p.id}', p.title)}\n{p.body}" for p in part.parts)
    return Html(f"<section>\n{joined(_heading(2, part.id, part.title), part.body, *map(Html, inner))}\n</section>")


def _heading(level: int, anchor: str, title: str) -> Html:
    return Html(f'<h{level} id="{anchor}">{link(f"#{anchor}", title)}</h{level}>')
