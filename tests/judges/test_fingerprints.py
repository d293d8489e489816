"""Digests of the built-in rubrics and fingerprints of their judges, as literals.

A stored judgment is reused only under the fingerprint it was given with: a change here makes every
stored judgment of that rubric worthless, and has to be meant. Raise the rubric's version, `FORM` or
`RULES` with it.
"""

from __future__ import annotations

import pytest

from ragassay.core import digest
from ragassay.judges import LLMJudge, OfflineJudge, RubricRegistry, answers_offline
from ragassay.judges.input_rules import RULES

RUBRICS = RubricRegistry.default()
LLM = LLMJudge("openai:gpt-x", RUBRICS)
OFFLINE = OfflineJudge("model-1", {}, RUBRICS, {"support": 0.4, "relevance": 0.5, "answer": 0.6})
# Rubric -> its reference, its digest, and the fingerprints of a language model and of the offline
# judge ("" where it cannot answer).
EXPECTED = {
    "answer_accuracy_dual_1": (
        "answer_accuracy_dual_1@1",
        "21b56761f752b6a0cb5884eef637fd12",
        "66c575621175e970c7bbd7fa6411121b",
        "",
    ),
    "answer_accuracy_dual_2": (
        "answer_accuracy_dual_2@1",
        "1b7350bb97511ac96ca4828a9004ee5f",
        "aa61cd95ffc5d6bf2830a032f908d0af",
        "",
    ),
    "answer_relevance": (
        "answer_relevance@1",
        "6be2713d2d53d077141e4558098aa628",
        "2173ffad21a47a08458be088861e033d",
        "8178df33b0328ab450041fc7b617cf5f",
    ),
    "answer_relevance_5": (
        "answer_relevance_5@1",
        "2fec2add33b44f2b682f70add5f3c914",
        "cb0d988cccb121e10e8ad6a762da6205",
        "",
    ),
    "chunk_relevance": (
        "chunk_relevance@1",
        "743080c8f5ae03e44cb53def6d1db07a",
        "7876175c1a1e877891d36a8c7f2c827f",
        "dd57c1d785090bdaebcfa68de53ba95a",
    ),
    "claim_sources": (
        "claim_sources@1",
        "12d7b7e0f811d9033ce19cab6bc3069d",
        "281967f80c5c4f30901d0ab189619649",
        "56aeb79c646149a6c4671c3f3f3b246a",
    ),
    "claims": (
        "claims@1",
        "239cbd9cfa6f49c2f5231534887f060e",
        "818e74e8f50f2e55020130b3ea0584e0",
        "",
    ),
    "completeness": (
        "completeness@1",
        "35a5a4ffa34871eccea98828fc8d6484",
        "7a3d4375d0bbaf6d00ab8d9cc5ed9251",
        "",
    ),
    "context_relevance": (
        "context_relevance@1",
        "d8a356759fcc46f4e0ff2baf2b3d422c",
        "f51677164a885fbb6c4c840f85123212",
        "8ec89da89f5482b01795c041e1d9c82a",
    ),
    "context_relevance_dual_1": (
        "context_relevance_dual_1@1",
        "cedfd478bb3bb46f60f93ba3e878df22",
        "3c29ac66596e292d40b052a79c7cd3d4",
        "",
    ),
    "context_relevance_dual_2": (
        "context_relevance_dual_2@1",
        "5e1c47c25b1291cb569ca8abe68b0db9",
        "31f54f3cfd09414fe248abac6f64ddc7",
        "",
    ),
    "context_sufficiency": (
        "context_sufficiency@1",
        "8b18ab27ac83969937065fd9f26f8992",
        "8a75f3cb72c9c448285cdac286a42cfd",
        "c80a5931747a459d2b82b98f4146ac65",
    ),
    "context_sufficiency_open": (
        "context_sufficiency_open@1",
        "3f884d8c4b9816e1f70dbd307449372b",
        "9715030a742faee37e1c2c0af14913a4",
        "",
    ),
    "correctness": (
        "correctness@1",
        "70be717f4a503dbab83b9b7d4407b14c",
        "98cfb01a7bd9498c8dad1cc9861f2317",
        "75f0e8e41a75d20e2f6242036d501731",
    ),
    "correctness_3": (
        "correctness_3@1",
        "10ba07507abcc43739bb6e6ec1afcad6",
        "099e4e2f3a4efaa84c262e742b6d68c8",
        "64415d0f497ad2103458eaf6378b4570",
    ),
    "entailment": (
        "entailment@1",
        "43f0512703d1df54334067ebe8436049",
        "1b1339bf3db6bc737aa9750bf5bab900",
        "7b561d50e11f540ac52661f5d9fb580a",
    ),
    "entities": (
        "entities@1",
        "11efe94974bdf56e731d6eb1a644a70c",
        "53b1aecc5d7e595b8b56bca5d3264009",
        "",
    ),
    "groundedness": (
        "groundedness@2",
        "a2bbe66ed5ec5d1acf41560fe156df5d",
        "bd8db6b7fc7b45ef06f5b90a01479c39",
        "5c0112e786c2061666a40ec847a36ddf",
    ),
    "guidelines": (
        "guidelines@1",
        "0174353d7e5fea9036e190c3974a4847",
        "3db21449a83bf8d76b8861c165c1b284",
        "",
    ),
    "questions": (
        "questions@1",
        "815aaaf91089da3e7013c91a92955bb9",
        "6d7d7534097249715b41324be5194738",
        "",
    ),
    "response_groundedness_dual_1": (
        "response_groundedness_dual_1@1",
        "90188c858d7f75d2067bf384ac9d28d5",
        "330bf14762bd60beacf495d2ea434b68",
        "",
    ),
    "response_groundedness_dual_2": (
        "response_groundedness_dual_2@1",
        "df6a1e5642aaa81442f43c9b94a145d1",
        "311bf29b6c0b19fc3c404dc6d8bb8779",
        "",
    ),
    "safety": (
        "safety@1",
        "0c9184e41ac86dfcf3ad4d89021df42e",
        "93dfb87f0ae39c9277cecc55070b0e1e",
        "",
    ),
    "sentence_relevance": (
        "sentence_relevance@1",
        "7a0db691a07d969c5876dcd0ba29d090",
        "babeac1ee2b896de09098d4d265051ba",
        "5afab107201062b3274ac8d7e4eab065",
    ),
}
# Rubric -> the digest of its input rules.
INPUT_RULES = {
    "answer_accuracy_dual_1": "203e800d6b37b3b161cd00a29e7b2b12",
    "answer_accuracy_dual_2": "6c31e2ffc2864e2acd8dcdbae74d65d3",
    "answer_relevance": "77c39f8becca5d6da218f7e96626d556",
    "answer_relevance_5": "e350e850b6b2fbe30c5261ab78615057",
    "chunk_relevance": "e168aa9c220853e153132392ef7ca8a1",
    "claim_sources": "2e0040b1c6653ebe3739363302a8654f",
    "claims": "b1189c1f68d543815e9b752762d43392",
    "context_relevance": "affe491309983503687b901f7b442018",
    "context_relevance_dual_1": "c6e121ffb6616482cb0fa946d3f019a7",
    "context_relevance_dual_2": "ca61039f31c767158e5bea6a8340fbc4",
    "context_sufficiency": "fc380e6ab21fe6a53672552780bae5e2",
    "context_sufficiency_open": "f456232a613d11dd6b290caaec949207",
    "correctness": "fb560c1b7732354bb4fe4fa7eb244ea0",
    "correctness_3": "35c44e1c2003f290affb24719e4858fd",
    "entailment": "a6d0261027f7060267769a1e4aa9811e",
    "entities": "2854b53b399949d2db8567c9003316e8",
    "groundedness": "c6e175bffeabeb8840282da224a6c2e1",
    "guidelines": "754fec2523ea5412bdda3652cf095e3e",
    "questions": "1b66c916becb4bdd90f09f4a68709e3b",
    "response_groundedness_dual_1": "0daf7c13d20148ef792bfb53ea61572a",
    "response_groundedness_dual_2": "5ec40fa50af152cc102a76e452fa0da8",
    "safety": "82a4f1fcf01bd07fdbbbefaeae929d34",
    "sentence_relevance": "db39430aa10f83261603fe2c082e55ea",
}


def test_every_built_in_rubric_is_compared() -> None:
    missing = {
        name: (RUBRICS.get(name).ref, RUBRICS.get(name).digest, LLM.fingerprint(name), "")
        for name in RUBRICS.ids()
        if name not in EXPECTED
    }
    assert not missing, f"a new rubric: add to EXPECTED {missing}"
    assert set(EXPECTED) == set(RUBRICS.ids())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_built_in_rubrics_digest_and_fingerprints_are_what_stored_judgments_carry(
    name: str,
) -> None:
    ref, rubric_digest, llm, offline = EXPECTED[name]
    assert RUBRICS.get(name).ref == ref
    assert RUBRICS.get(name).digest == rubric_digest
    assert LLM.fingerprint(name) == llm
    assert (OFFLINE.fingerprint(name) if answers_offline(name) else "") == offline


def input_rules_digest(rubric: str) -> str:
    """A digest of everything that the rubric's input rules say."""
    return digest(
        [
            (rubric, rule.conditions, rule.not_applicable, rule.rating, rule.reasoning, rule.flags)
            for rule in RUBRICS.get(rubric).input_rules
        ]
    )


@pytest.mark.parametrize("rubric", [r for r in RUBRICS.ids() if RUBRICS.get(r).input_rules])
def test_rules_on_inputs_are_numbered_so_that_their_change_changes_fingerprints(
    rubric: str,
) -> None:
    now = input_rules_digest(rubric)
    assert rubric in INPUT_RULES, f"a new rubric: add to INPUT_RULES\n    {rubric!r}: {now!r},"
    # A rule that changes needs another number: raise `input_rules.RULES` and write the new digests.
    # RULES is in the fingerprint of every judge, so that all stored judgments are then made anew.
    assert (RULES, now) == (2, INPUT_RULES[rubric])
