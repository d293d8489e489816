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
        "80532482e67a8ef40003d45dbe2da32b",
        "70388f3af964c0535ea3e45526908be7",
        "",
    ),
    "answer_accuracy_dual_2": (
        "answer_accuracy_dual_2@1",
        "a3fb9cbb1b0c8144f617602367ae1ad0",
        "415d6f764f555ddfe228324fd3094e78",
        "",
    ),
    "answer_relevance": (
        "answer_relevance@1",
        "5e4b096348de949f54838b1bf0950a2b",
        "546498008277108dc6c505ed114b743b",
        "8178df33b0328ab450041fc7b617cf5f",
    ),
    "answer_relevance_5": (
        "answer_relevance_5@1",
        "486921736dc6c73edb066f31896b5a3d",
        "6d32acf51c5beb3f5d925687a410bb59",
        "",
    ),
    "chunk_relevance": (
        "chunk_relevance@1",
        "d55ed23a5704be67e368b7724a0dd30d",
        "81d78a3d6f7a006631b4527eaad38bbc",
        "dd57c1d785090bdaebcfa68de53ba95a",
    ),
    "claim_sources": (
        "claim_sources@1",
        "1e15e95bc781e3b1cb90f80517438088",
        "b0d1ff2136b5bc46253c369023cc7208",
        "56aeb79c646149a6c4671c3f3f3b246a",
    ),
    "claims": (
        "claims@1",
        "de982f8592dd46f2af5b47248a59f152",
        "830097284ba974fe4648c70fcb0c2116",
        "",
    ),
    "completeness": (
        "completeness@1",
        "32d70c2374868795186db2a8933c0404",
        "e0269dc94c35ace5f9d9eeb8b1ec877d",
        "",
    ),
    "context_relevance": (
        "context_relevance@1",
        "b081dde5788d991eb9e0781ef2af1bd2",
        "c374626a439f5cd21934f9baeeb1af0c",
        "8ec89da89f5482b01795c041e1d9c82a",
    ),
    "context_relevance_dual_1": (
        "context_relevance_dual_1@1",
        "a0ba72a749a177222fd6d61355165ddf",
        "ed94d8ffd695a4c6da717e1f7b487c56",
        "",
    ),
    "context_relevance_dual_2": (
        "context_relevance_dual_2@1",
        "3cb6d10409fb42e5c68b47338c7cfbee",
        "5fe276e48597bffb0ce965685c97ee6b",
        "",
    ),
    "context_sufficiency": (
        "context_sufficiency@1",
        "100acf76da08ce6d1bf73a6fa2c43e02",
        "f3b82d9ee7d16b284354044751771cb0",
        "c80a5931747a459d2b82b98f4146ac65",
    ),
    "context_sufficiency_open": (
        "context_sufficiency_open@1",
        "7b267018ae1373480a4734ff41e22acf",
        "526acf759e169daa5faf232021330d84",
        "",
    ),
    "correctness": (
        "correctness@1",
        "163aebbf0e69336b04c844d1280f9fed",
        "0fabadf230efd3211b83c19a0b982f2c",
        "75f0e8e41a75d20e2f6242036d501731",
    ),
    "correctness_3": (
        "correctness_3@1",
        "55d14ded2e116bd06e0f5995cc7e57d5",
        "e1a9b71e7bc5775b92d555d679a6e3c3",
        "64415d0f497ad2103458eaf6378b4570",
    ),
    "entailment": (
        "entailment@1",
        "5268a5321a98fe8f96bb2e17f4a24390",
        "f7e5852102ca0a480045b1897bc3bde6",
        "7b561d50e11f540ac52661f5d9fb580a",
    ),
    "entities": (
        "entities@1",
        "99cc58a11819e1f061bf35e760fa7b48",
        "39558b7d3c1615163d295e6b4a1dea00",
        "",
    ),
    "groundedness": (
        "groundedness@2",
        "00fcef4da7bae140e917556b83ac1ec0",
        "1e6e3375532cb6e554a6900cf40deb96",
        "5c0112e786c2061666a40ec847a36ddf",
    ),
    "guidelines": (
        "guidelines@1",
        "9a0c64d3f4e5eac1f2672d7a1c93102b",
        "18b1c836c48d59f8a232c75c01f4db29",
        "",
    ),
    "questions": (
        "questions@1",
        "7b464a8ff7b52542e77de6431b122091",
        "51383c9e6b2c4025679d00d39e0983c6",
        "",
    ),
    "response_groundedness_dual_1": (
        "response_groundedness_dual_1@1",
        "d5b005a92722fe5090327e29efe2f048",
        "3a8fc15030394f7463d8c4c5010667d5",
        "",
    ),
    "response_groundedness_dual_2": (
        "response_groundedness_dual_2@1",
        "bea6b7b8d5289300df532d597b69a3d7",
        "d3437f2dbefb3d87b48ddea42c1924fa",
        "",
    ),
    "safety": (
        "safety@1",
        "59eb21e1cc3fbe0ce78f34e6544c926c",
        "67cb4212e575f236d3fbd801c0d1cbce",
        "",
    ),
    "sentence_relevance": (
        "sentence_relevance@1",
        "58a8487a28cdcb5a48f80cc43f36b6d8",
        "5f71f366b457060b314bac6016203761",
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
