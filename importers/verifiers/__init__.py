"""Read rollouts of verifiers: traces of version 0.4, and results of versions 0.1 to 0.3."""
