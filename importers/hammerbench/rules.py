"""How HammerBench's texts are taken for equal in the argument diff: case, blanks and closing marks aside."""

from fcreview.calls.face import Rules


def normalise(text: str) -> str:
    return " ".join(text.strip(".?!。！ ").lower().split())


RULES = Rules(normalise=normalise)
