"""Import sessions of the coding agents Claude Code, Codex and Gemini CLI."""
