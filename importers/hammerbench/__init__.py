"""Import HammerBench in English and Chinese, from flat logs and per-conversation folders."""
