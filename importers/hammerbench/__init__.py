"""HammerBench, English and Chinese: flat logs and per-conversation folders."""
