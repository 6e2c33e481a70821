"""How far automatic verdicts can be believed, measured against what people settled. Pure."""
