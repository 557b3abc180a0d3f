"""The table as an SVG, drawn from a JSON view and from nothing else.

A picture made this way can never show more than the view does: whoever may see
the view may see the picture.
"""

from colorsys import hls_to_rgb
from html import escape
from typing import Any

WIDTH, HEIGHT = 960, 640
CARD_W, CARD_H = 66, 92
RAISE = 17  # exactly the name band of a city card, so a raised card shows its name and no more
INK, CREAM, GOLD, RED, BLUE = "#22303c", "#fdf8ea", "#f2b632", "#b23a33", "#2b5c93"
BLUE_KINDS = {
    "high speed": "#7a4fa3",
    "parachute": "#2f8f83",
    "transfer": "#3b6fb5",
    "delay": "#4a5560",
    "fair weather": "#d98a1f",
}
# Icons are drawn round the origin, about 40 wide, in the card's own colour.
ICONS = {
    "high speed": '<path fill="none" d="M-18-12L-6 0-18 12M-5-12L7 0-5 12M8-12L20 0 8 12" stroke-width="5"/>',
    "parachute": '<path d="M-18 0a18 18 0 0 1 36 0q-6-5-12 0-6-5-12 0-6-5-12 0z"/>'
    '<path d="M-18 0L0 19 18 0M-6 0L0 19 6 0" fill="none"/><circle cy="19" r="3"/>',
    "transfer": '<path d="M-18-7H14M7-14l8 7-8 7M18 9H-14M-7 2l-8 7 8 7" fill="none" stroke-width="4"/>',
    "delay": '<path d="M-12 4a8 8 0 0 1 0-15 11 11 0 0 1 20-2 9 9 0 0 1 4 17z"/>'
    '<path d="M1 0l-7 11h6l-4 10L8 7H2l5-7z" fill="#f2b632" stroke="none"/>',
    "fair weather": '<circle r="9"/>'
    '<path d="M0-19v6M0 13v6M-19 0h6M13 0h6M-13-13l4 4M9 9l4 4M13-13l-4 4M-9 9l-4 4" stroke-width="3"/>',
}
PLANE = (  # a biplane's silhouette from above, nose to the left, as the mail flies west
    "M-34 0q2-6 14-6l8-1 2-27q1-3 8-3 6 0 6 4l2 26 22-2 2-12q1-3 7-2l0 46q-6 1-7-2l-2-12-22-2-2 26q0 4-6 4"
    "-7 0-8-3l-2-27-8-1q-12 0-14-6z"
)


def svg(view: dict[str, Any]) -> str:
    """The whole table as one self-contained SVG document."""
    seats, first = view["seats"], view["seat"] or 0
    slots = _slots(len(seats))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="DejaVu Sans">',
        _background(len(seats)),
        _title(view),
        _centre(view, 176 if len(seats) == 3 else 246),
    ]
    for step, (kind, x, y, width) in enumerate(slots):
        parts.append(_panel(view, seats[(first + step) % len(seats)], kind, x, y, width))
    return "\n".join([*parts, "</svg>"])


def _slots(players: int) -> list[tuple[str, int, int, int]]:
    """Where the panels stand, from the viewer clockwise: (shape, x, y, width)."""
    x, width = (170, 620) if players == 2 else (232, 496)
    bottom, top = ("wide", x, 468, width), ("wide", x, 52, width)
    left, right = ("tall", 8, 144, 216), ("tall", 736, 144, 216)
    return {2: [bottom, top], 3: [bottom, left, right], 4: [bottom, left, top, right]}[players]


def _text(x: float, y: float, words: object, size: float, fill: str = INK, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:.3g}" fill="{fill}"{more}>{escape(str(words))}</text>'


def _mid(x: float, y: float, words: object, size: float, fill: str = INK, more: str = "") -> str:
    return _text(x, y, words, size, fill, ' text-anchor="middle"' + more)


def _rect(x: float, y: float, w: float, h: float, fill: str, more: str = "", r: float = 6) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{r:g}" fill="{fill}"{more}/>'


def _at(x: float, y: float, body: str, scale: float = 1, more: str = "") -> str:
    return f'<g transform="translate({x:g} {y:g}) scale({scale:g})"{more}>{body}</g>'


def _fit(words: str, width: float, most: float) -> float:
    """The font size at which the words stay within the width (a DejaVu letter is about 0.61 em)."""
    return min(most, width / (0.61 * max(len(words), 1)))


def _pill(x: float, y: float, words: str, fill: str) -> tuple[str, float]:
    """A small label and the x at which the next one may start."""
    width = 6.4 * len(words) + 12
    drawn = _rect(x, y - 11, width, 15, fill, r=7.5) + _mid(x + width / 2, y, words, 10)
    return drawn, x + width + 5


def _ramp(number: int, cities: int) -> str:
    """From Atlantic blue in the east over green to sunset red in the west."""
    hue = (212 - 208 * (number - 1) / max(cities - 1, 1)) / 360
    red, green, blue = (round(255 * part) for part in hls_to_rgb(hue, 0.38, 0.62))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _icon(kind: str, x: float, y: float, scale: float = 1) -> str:
    colour = BLUE_KINDS.get(kind, BLUE)
    style = f' fill="{colour}" stroke="{colour}" stroke-width="1.5" stroke-linejoin="round"'
    return _at(x, y, ICONS.get(kind, '<circle r="10"/>'), scale, style)


def _face(band: str, name: str, more: str = "") -> str:
    edge = more or ' stroke="#8d8672"'
    return (
        _rect(0, 0, CARD_W, CARD_H, CREAM, edge)
        + f'<path d="M2 {RAISE}V7a5 5 0 0 1 5-5h{CARD_W - 14}a5 5 0 0 1 5 5v{RAISE - 7}z" fill="{band}"/>'
        + _mid(CARD_W / 2, 12.5, name, _fit(name, CARD_W - 7, 9.5), "#fff")
    )


def _card(view: dict[str, Any], name: str, more: str = "") -> str:
    """Any card face up; names that are no city are taken to be blue cards."""
    cities = view["cities"]
    if name not in cities:
        return _face(BLUE_KINDS.get(name, BLUE), name, more) + _icon(name, CARD_W / 2, 54)
    number = cities.index(name) + 1
    colour = _ramp(number, len(cities))
    plane = _at(CARD_W / 2, 74, f'<path d="{PLANE}" fill="{colour}" opacity="0.5"/>', 0.36)
    big = _mid(CARD_W / 2, 51, number, 30, colour, ' font-weight="bold"')
    return _face(colour, name, more) + plane + big


def _back(colour: str, kind: str) -> str:
    plane = f'<path d="{PLANE}" fill="{CREAM}" opacity="0.85"/>'
    return (
        _rect(0, 0, CARD_W, CARD_H, colour, f' stroke="#111" stroke-opacity="0.4" class="{kind}"')
        + _rect(5, 5, CARD_W - 10, CARD_H - 10, "none", f' stroke="{CREAM}" stroke-opacity="0.6"', 4)
        + _at(CARD_W / 2, CARD_H / 2, plane, 0.62)
    )


def _empty(words: str) -> str:
    dashes = ' stroke="#fff" stroke-opacity="0.45" stroke-dasharray="4 4"'
    return _rect(1, 1, CARD_W - 2, CARD_H - 2, "none", dashes) + _mid(CARD_W / 2, 50, words, 9, "#dfe9e2")


def _background(players: int) -> str:
    route = '<path d="M940 120C760 70 700 560 480 340S180 560 20 470" fill="none" stroke="#fff"'
    felt = _rect(0, 0, WIDTH, HEIGHT, "#2c5f56", r=0)
    felt += f'{route} stroke-opacity="0.14" stroke-width="3" stroke-dasharray="2 9" stroke-linecap="round"/>'
    plane = f'<path d="{PLANE}" fill="#fff" opacity="0.13"/>'
    # The mail plane flies where no panel stands.
    for x, y in {2: [(116, 345), (844, 345)], 3: [(480, 106)]}.get(players, []):
        felt += _at(x, y, plane, 1.6 if players == 2 else 0.95)
    return felt


def _title(view: dict[str, Any]) -> str:
    parts = [_rect(0, 0, WIDTH, 42, INK, r=0), _rect(0, 42, WIDTH, 2, GOLD, r=0)]
    parts.append(_text(16, 28, "Aviation", 20, GOLD, ' font-weight="bold"'))
    parts.append(_text(124, 27, f"turn {view['turn']}/{view['max_turns']}", 14, CREAM))
    parts.append(_text(244, 27, f"phase: {view['phase']}", 14, CREAM))
    seen = "spectator: all hands" if view["seat"] is None else f"seen by player {view['seat']}"
    parts.append(_text(944, 27, seen, 12, "#aebbc4", ' text-anchor="end"'))
    banner = f"Player {view['winner']} wins" if view["winner"] is not None else "no winner"
    if view["truncated"]:
        banner += " (truncated)" if view["winner"] is not None else ": truncated"
    if view["phase"] == "over" or view["winner"] is not None or view["truncated"]:
        ribbon = '<path d="M390 6H690L678 21l12 15H390l12-15z" fill="#f2b632"/>'
        parts.append(ribbon + _mid(540, 27, banner, 16, INK, ' font-weight="bold" class="banner"'))
    return "".join(parts)


def _centre(view: dict[str, Any], y: int) -> str:
    red, blue = view["red"], view["blue"]
    # The newest last, so that each covers all but the name of the one before it.
    seen = red["discards"][-4:]
    stack = "".join(_at(0, RAISE * (i + 1 - len(seen)), _card(view, name)) for i, name in enumerate(seen))
    top = _card(view, blue["top"]) if blue["top"] else _empty("empty")
    edge = ' fill-opacity="0.75" stroke="#fff" stroke-opacity="0.15"'
    parts = [_rect(246, y - 10, 468, 216, "#1f4a43", edge, 14)]
    piles = [
        (_pile(red["pile"], RED), "city pack", red["pile"]),
        (stack or _empty("empty"), "discarded", len(red["discards"])),
        (_pile(blue["pile"], BLUE), "blue pack", blue["pile"]),
        (top, "discarded", sum(blue["discards"].values())),
    ]
    for place, (drawn, label, count) in enumerate(piles):
        x = (264, 368, 492, 600)[place]
        parts.append(_at(x, y + 56, drawn, 1.16))
        parts.append(_mid(x + 38, y + 178, label, 9.5, "#dfe9e2"))
        parts.append(_mid(x + 38, y + 195, count, 14, "#fff", ' font-weight="bold"'))
    # How many of each kind lie in the blue discards, as a row of icons above the blue piles.
    for place, (kind, count) in enumerate(blue["discards"].items()):
        x = 474 + 48 * place
        parts.append(_rect(x - 14, y, 44, 30, CREAM, f' opacity="{0.95 if count else 0.4}"'))
        parts.append(_icon(kind, x, y + 15, 0.5) + _text(x + 14, y + 20, count, 12))
        parts.append(_mid(x + 8, y + 39, kind, 6.4, "#dfe9e2"))
    return "".join(parts)


def _pile(count: int, colour: str) -> str:
    """A pile of backs, the thicker the more cards it holds."""
    if not count:
        return _empty("empty")
    return "".join(_at(-d, -d, _back(colour, "pile-back")) for d in range(0, min(8, 2 + count // 8), 2))


def _panel(view: dict[str, Any], seat: dict[str, Any], kind: str, x: int, y: int, width: int) -> str:
    tall = kind == "tall"
    height = 396 if tall else 164
    turn = view["on_turn"] == seat["seat"]
    edge = f' stroke="{GOLD}" stroke-width="3"' if turn else ' stroke="#fff" stroke-opacity="0.25"'
    parts = [
        _rect(0, 0, width, height, "#173a35" if turn else "#22524a", edge, 12),
        _header(view, seat, width),
        _at(14, 34 if tall else 42, _building(view, seat)),
        _at(10, 138, _strip(view, seat["pile"], width - 20)),
    ]
    columns = (seat["cards"] + 1) // 2 if seat["cards"] > 6 else 3
    room = (8, 186, 200, columns) if tall else (132, 42, width - 142, max(seat["cards"], 1))
    parts.append(_hand(view, seat, *room))
    return _at(x, y, "".join(parts), 1, f' id="seat-{seat["seat"]}"')


def _header(view: dict[str, Any], seat: dict[str, Any], width: int) -> str:
    number = seat["seat"]
    parts = [_text(12, 19, f"Player {number}", 13, "#fff", ' font-weight="bold"')]
    marks = [(number == view["dealer"], "D", CREAM), (number == view["to_act"], "to act", GOLD)]
    marks += [(seat["has_chosen"], "chosen", "#9fd3c7"), (number == view["winner"], "won", GOLD)]
    x = 78.0
    for shown, words, colour in marks:
        if shown:
            drawn, x = _pill(x, 18, words, colour)
            parts.append(drawn)
    left = view["cities"][seat["pile"] :]
    words = f"next: {left[0]}" if left else "route flown"
    # Beside the marks there is room for it only in a wide panel; a tall one has some beside the pile.
    spot = (width - 12, 19) if width > 300 else (width - 10, 122)
    return "".join(parts) + _text(*spot, words, 10.5, "#cfe0d8", ' text-anchor="end"')


def _building(view: dict[str, Any], seat: dict[str, Any]) -> str:
    """The top city of the pile, a delay laid across it, and a parachute in front."""
    parts = [_card(view, view["cities"][seat["pile"] - 1]) if seat["pile"] else _empty("no city")]
    if seat["delayed"]:
        colour = BLUE_KINDS["delay"]
        across = _rect(-10, 53, 86, 33, CREAM, f' stroke="{colour}" stroke-width="2"')
        across += _icon("delay", 6, 67, 0.7) + _text(23, 74, "DELAY", 12.5, colour, ' font-weight="bold"')
        parts.append(f'<g class="delay" transform="rotate(-6 33 69)">{across}</g>')
    if seat["parachute"]:
        parts.append(_at(74, 0, _card(view, "parachute"), 0.6, ' class="parachute"'))
    return "".join(parts)


def _strip(view: dict[str, Any], laid: int, width: float) -> str:
    """The way from the first city to the last, coloured as far as it has been flown."""
    cities = view["cities"]
    step = width / len(cities)
    parts = []
    for place, name in enumerate(cities):
        reached = place < laid
        words = name.split()
        short = "".join(word[0] for word in words) if len(words) > 1 else name[:3].upper()
        label = short if reached else place + 1
        fill = _ramp(place + 1, len(cities)) if reached else "#0f2a26"
        parts.append(_rect(place * step + 0.75, 0, step - 1.5, 17, fill, r=3))
        size = min(9.5, step * 0.39) if reached else 8
        parts.append(_mid((place + 0.5) * step, 11.5, label, size, "#fff" if reached else "#7f9a92"))
    return "".join(parts)


def _hand(view: dict[str, Any], seat: dict[str, Any], x: float, y: float, width: float, columns: int) -> str:
    shown = seat["hand"]
    known = [] if shown is not None else seat["known"]
    chosen = view["chosen"] if view["seat"] == seat["seat"] else None
    step = min(CARD_W + 4, (width - CARD_W) / max(columns - 1, 1))
    cards = []
    for place in range(seat["cards"] if shown is None else len(shown)):
        spot = (x + step * (place % columns), y + (CARD_H + RAISE - 5) * (place // columns))
        if shown is None:
            face = _at(0, -RAISE, _card(view, known[place])) if place < len(known) else ""
            cards.append(_at(*spot, face + _back(RED, "hand-back")))
        elif shown[place] == chosen:
            chosen = None  # of two like cards only one is passed on
            cards.append(_at(spot[0], spot[1] - 8, _card(view, shown[place], f' stroke="{GOLD}" stroke-width="4"')))
        else:
            cards.append(_at(*spot, _card(view, shown[place])))
    return f'<g class="hand">{"".join(cards)}</g>'
