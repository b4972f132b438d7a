"""People and what is known of them, with questions whose right answers are known: made, not found.

Each person has a fact of each kind, told in one of several ways; a question asks for one fact in
words of its own. So words alone find the person, meaning alone finds the kind, and both the fact.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NAMES = """
Ada Bela Carla Dario Edda Farid Greta Hanno Ines Jonas Kaja Luca Mira Nils Olga Pablo
Quinn Rosa Samir Tilda Ugo Vera Wanda Xaver Yara Zeno Alma Bruno Celia Dimitri
"""
NAMES = tuple(_NAMES.split())
KINDS: dict[str, tuple[Sequence[str], Sequence[str], Sequence[str]]] = {
    "drink": (
        ("{name} orders {thing} in every café", "{thing} is what {name} has at breakfast"),
        ("green tea", "espresso", "oat milk cocoa", "tomato juice", "sparkling water"),
        ("What does {name} like to drink?", "Which beverage should I bring {name}?"),
    ),
    "pet": (
        ("{name} lives with a {thing}", "At home a {thing} waits for {name}"),
        ("beagle", "grey parrot", "tabby cat", "tortoise", "rabbit"),
        ("Does {name} have an animal?", "What pet does {name} keep?"),
    ),
    "work": (
        ("{name} earns a living as a {thing}", "By profession {name} is a {thing}"),
        ("bridge engineer", "pastry chef", "notary", "midwife", "violin maker"),
        ("What is the job of {name}?", "Where does the salary of {name} come from?"),
    ),
    "health": (
        ("{name} gets a rash from {thing}", "{thing} makes {name} ill"),
        ("peanuts", "penicillin", "shellfish", "pollen", "latex"),
        ("What is {name} allergic to?", "Which substances must {name} avoid?"),
    ),
    "travel": (
        ("{name} goes to {thing} by train each summer", "Every holiday takes {name} to {thing}"),
        ("Lisbon", "the Dolomites", "Kyoto", "Crete", "Bergen"),
        ("Where does {name} spend vacations?", "Which place does {name} travel to?"),
    ),
    "sport": (
        ("On weekends {name} does {thing}", "{name} trains {thing} twice a week"),
        ("rowing", "fencing", "bouldering", "water polo", "judo"),
        ("How does {name} keep fit?", "What exercise does {name} do?"),
    ),
    "order": (
        ("{name} waits for the parcel {code}", "The delivery {code} belongs to {name}"),
        ("",),
        ("Whose is {code}?", "Look up shipment {code}"),
    ),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One item."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the keys of the facts that answer it."""

    text: str
    answers: frozenset[str]


def corpus(seed: int = 1) -> tuple[list[Fact], list[Question]]:
    """Return facts and questions, always the same for one seed."""
    chance = random.Random(seed)
    facts: list[Fact] = []
    questions: list[Question] = []
    for name in NAMES:
        for kind, (tellings, things, askings) in KINDS.items():
            code = f"{chance.choice('KQRT')}X-{chance.randrange(1000, 9999)}"
            words = {"name": name, "thing": chance.choice(things), "code": code}
            key = f"{name}-{kind}"
            facts.append(Fact(key, chance.choice(tellings).format(**words) + "."))
            text = chance.choice(askings).format(**words)
            questions.append(Question(text, frozenset({key})))
    return facts, questions


def sentences(count: int, seed: int = 2) -> Iterator[str]:
    """Yield so many sentences, all different, of the same kinds."""
    chance = random.Random(seed)
    kinds = list(KINDS.values())
    for number in range(count):
        tellings, things, _ = chance.choice(kinds)
        name = f"{chance.choice(NAMES)} {chance.choice('ABCDEFGH')}. {chance.choice(NAMES)}son"
        words = {"name": name, "thing": chance.choice(things), "code": f"N-{number}"}
        place = chance.choice(KINDS["travel"][1])
        yield f"{chance.choice(tellings).format(**words)}, near {place}, note {number}."
