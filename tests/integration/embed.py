"""An embedder that is a file: what a text is about, as three numbers."""

TOPICS = ("tea coffee drink", "dog cat animal", "train city travel")


def embed(texts: list[str]) -> list[list[float]]:
    """Count the words of each topic."""
    return [
        [sum(w in text.lower() for w in topic.split()) + 0.01 for topic in TOPICS] for text in texts
    ]


async def aembed(texts: list[str]) -> list[list[float]]:
    """Do the same for an awaiting caller."""
    return embed(texts)
