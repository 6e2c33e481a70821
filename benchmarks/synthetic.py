"""Write a BFCL V4 run of any size in its native format, for the measurements in a terminal.

Usage: python benchmarks/synthetic.py FOLDER ITEMS
"""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

FUNCTION = {
    "name": "stock.reserve",
    "description": "Reserve goods in a warehouse.",
    "parameters": {
        "type": "dict",
        "properties": {
            "article": {"type": "string", "description": "Article number."},
            "count": {"type": "integer", "description": "How many."},
            "warehouse": {"type": "string", "description": "Where; the nearest if left out."},
        },
        "required": ["article", "count"],
    },
}


def write_run(folder: Path, items: int) -> Path:
    """Write a run of `items` single calls, of which every fourth is wrong, with dataset and score
    file. Return the folder.
    """
    name = "BFCL_v4_simple_python"
    for sub in ("data/possible_answer", "result/synthetic/non_live", "score/synthetic/non_live"):
        (folder / sub).mkdir(parents=True, exist_ok=True)
    questions, answers, results, scores = [], [], [], []
    for n in range(items):
        item = f"simple_python_{n}"
        text = f"Reserve {n % 9 + 1} pieces of article A-{n:06d} in the warehouse north."
        question = {
            "id": item,
            "question": [[{"role": "user", "content": text}]],
            "function": [FUNCTION],
        }
        golden = [
            {
                "stock.reserve": {
                    "article": [f"A-{n:06d}"],
                    "count": [n % 9 + 1],
                    "warehouse": ["north", ""],
                }
            }
        ]
        wrong = n % 4 == 3
        count = n % 9 + (2 if wrong else 1)
        reply = f"[stock.reserve(article='A-{n:06d}', count={count}, warehouse='north')]"
        questions.append(question)
        answers.append({"id": item, "ground_truth": golden})
        results.append(
            {
                "id": item,
                "result": reply,
                "input_token_count": 300,
                "output_token_count": 30,
                "latency": 0.5,
            }
        )
        if wrong:
            error = [f"count: {count} is not the expected {n % 9 + 1}"]
            scores.append(
                {
                    "id": item,
                    "model_name": "synthetic",
                    "test_category": "simple_python",
                    "valid": False,
                    "error": error,
                }
                | {
                    "error_type": "value_error:others",
                    "prompt": question,
                    "model_result_raw": reply,
                    "possible_answer": golden,
                }
            )
    header = {
        "accuracy": 1 - len(scores) / items,
        "correct_count": items - len(scores),
        "total_count": items,
    }
    for path, rows in (
        (f"data/{name}.json", questions),
        (f"data/possible_answer/{name}.json", answers),
        (f"result/synthetic/non_live/{name}_result.json", results),
        (f"score/synthetic/non_live/{name}_score.json", [header, *scores]),
    ):
        (folder / path).write_bytes(b"\n".join(map(orjson.dumps, rows)) + b"\n")
    return folder


if __name__ == "__main__":
    write_run(Path(sys.argv[1]), int(sys.argv[2]))
