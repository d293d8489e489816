"""A judge on a published set-up, built from a copy of its set, beside rivals of the same tables."""

import json

from ragassay.testing import LLMServer
from support.shell import Shell


def test_the_three_set_ups_are_built_and_rivals_are_asked_of_the_same_model(shell: Shell) -> None:
    missing = shell("ragassay benchmark dl21 --setup triad-context --judge offline", code=2)
    assert "error[E1203]" in missing.err
    assert "microsoft.github.io/msmarco/TREC-Deep-Learning" in missing.err

    texts = {f"d{n}": f"The harbour of town {n} opened in {1800 + n}." for n in range(12)}
    (shell.folder / "dl21").mkdir()
    shell.write("dl21/queries.tsv", "".join(f"q{n}\topening of harbour {n}\n" for n in range(12)))
    shell.write("dl21/collection.tsv", "".join(f"{key}\t{text}\n" for key, text in texts.items()))
    grades = [f"q{n} 0 d{(n + shift) % 12} {3 - shift}\n" for n in range(12) for shift in range(3)]
    shell.write("dl21/qrels.dl21-passage.txt", "".join(grades))
    with LLMServer() as server:
        asked = f"--judge openai:mock --base-url {server.url}"
        done = shell(
            f"ragassay benchmark dl21 --setup triad-context {asked} --rival all", at_most=200
        )
        assert (
            "triad-context: 36 rows from queries.tsv, qrels.dl21-passage.txt, collection.tsv"
            in (done.messages)
        )
        head = " ".join(" ".join(done.lines[:4]).split())
        for judge in ("openai:mock", "openai:mock as umbrela", "openai:mock as mlflow-relevance"):
            assert judge in " ".join(" ".join(done.lines).split())
        assert "36 human labels for context_relevance" in head
        assert any("people pass   a label of at least 2, of 1, 2, 3" in line for line in done.lines)
        prompts = [json.dumps(body) for body in server.bodies]
        assert any("what a person who types this query wants to know" in text for text in prompts)

        claims = [
            {"dataset": "made", "doc": text, "claim": claim, "label": int(claim in text)}
            for text in texts.values()
            for claim in (text, "The harbour was closed by decree of a bishop.")
        ]
        shell.write("test.jsonl", "".join(json.dumps(claim) + "\n" for claim in claims))
        grounded = shell(
            f"ragassay benchmark test.jsonl --setup triad-groundedness {asked} --rival all --json",
            at_most=20_000,
        )
        judges = json.loads(grounded.out)["judges"]
        assert [judge["judge"] for judge in judges] == [
            "openai:mock",
            "openai:mock as mlflow-faithfulness",
            "openai:mock as minicheck",
        ]
        assert [judge["n"] for judge in judges] == [24, 24, 24]

        questions = [
            {"_id": f"h{n}", "question": f"When did harbour {n} open?", "answer": str(1800 + n)}
            for n in range(10)
        ]
        shell.write("hotpot_dev_distractor_v1.json", json.dumps(questions))
        answers = shell(
            f"ragassay benchmark . --setup triad-answer {asked} --rival mlflow-answer-relevance",
            at_most=200,
        )
        assert "20 labels are constructed, not given by people" in " ".join(
            " ".join(answers.lines).split()
        )
    wrong = shell(
        "ragassay benchmark dl21 --setup triad-context --rival minicheck --judge offline", code=2
    )
    assert "minicheck belongs to --setup triad-groundedness" in wrong.err
