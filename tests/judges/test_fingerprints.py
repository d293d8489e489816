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
        "answer_accuracy_dual_1@2",
        "a7c6bb916f243545cf02277a28a9dd33",
        "63e39089fbd5ec3a34c8882f2235dafe",
        "",
    ),
    "answer_accuracy_dual_1_light": (
        "answer_accuracy_dual_1_light@1",
        "432e4dea0296ea02c78646cf97ca5db3",
        "f81a796d99f9e995a3e5687c016029b6",
        "",
    ),
    "answer_accuracy_dual_2": (
        "answer_accuracy_dual_2@2",
        "acfe079e0117ad6ef8de544082cb71d7",
        "b92ee495d30acba4ed9dd0cc198a2d44",
        "",
    ),
    "answer_accuracy_dual_2_light": (
        "answer_accuracy_dual_2_light@1",
        "37a4e9481a155e05ca62f581aa48ba11",
        "727e6ebcde0dbbc7126d31d8d753d9f2",
        "",
    ),
    "answer_relevance": (
        "answer_relevance@3",
        "f08e7c0598f18e7b8c6113a34016b704",
        "939f10950cba7e8c5cd2ddfd26429124",
        "e6a1f2dbfef4495d42418bc9bb8a5322",
    ),
    "answer_relevance_5": (
        "answer_relevance_5@3",
        "c0dcae11637fe404da89b0aa7b5a4490",
        "ccc4ca097c62b17567814165a112395e",
        "",
    ),
    "chunk_relevance": (
        "chunk_relevance@2",
        "516bcdb416a9b98f241c5d8d34ffd301",
        "dbff07d8efab86bd9cf0e8f99327bd0c",
        "5b5173db74008d1fc9c8c5d2db1a7ba9",
    ),
    "claim_sources": (
        "claim_sources@2",
        "be4e40192bf5e94164413e52c1653199",
        "f30b41d6bca101a9cb0699b8f432bd80",
        "4a8e867f6d329e9d136809f8834b5360",
    ),
    "claims": (
        "claims@2",
        "159ffa22dbe44f4b98891c010f93bb5a",
        "b373486d592956441eff571110d64b8d",
        "",
    ),
    "completeness": (
        "completeness@2",
        "198b3492142e6ff93d74cf654224ccd6",
        "7a717902025d2987bdf8fe2c8c2d6c76",
        "",
    ),
    "context_relevance": (
        "context_relevance@3",
        "95c01238f95468e7bddacedb8f29b7c2",
        "9108f936acaab5aea59b232b8981af77",
        "dba7d72b2c836ef83c4a3ab11678f8a2",
    ),
    "context_relevance_dual_1": (
        "context_relevance_dual_1@2",
        "33970519e01e4f2d52aa055a9847413e",
        "d6e4a0bb9ecbdfe191b635dea86b1860",
        "",
    ),
    "context_relevance_dual_1_light": (
        "context_relevance_dual_1_light@1",
        "6ca5023226a803dbb6bf9093e4f81361",
        "b9d682d2f46c22bc33ec831b0c031f2c",
        "",
    ),
    "context_relevance_dual_2": (
        "context_relevance_dual_2@2",
        "bf895a1a310613d856a09394255b8fde",
        "b8ae1d60d887cb99a9320110ca9992d3",
        "",
    ),
    "context_relevance_dual_2_light": (
        "context_relevance_dual_2_light@1",
        "dd7026391dbac255908ad27ad41bed93",
        "ef9ca83c3e8bafb5a85204540df3b346",
        "",
    ),
    "context_sufficiency": (
        "context_sufficiency@2",
        "29434973ab9cc10af59fe1e45679b204",
        "741ded0ce5d78bd72f10644765b2fb3c",
        "d28002dbc8d8a2d2d784c91e0bd524bd",
    ),
    "context_sufficiency_open": (
        "context_sufficiency_open@2",
        "505831b6e91221b536eab83148155327",
        "625ac2b71d9a443ba10ef93f7da23d56",
        "",
    ),
    "correctness": (
        "correctness@2",
        "3a5b9f803e9d01430dcfb9c6b97caf15",
        "f4a631c2b1a20b0bafb43d149d29c745",
        "904b54dfe886cfd3a52e7e50314eb870",
    ),
    "correctness_3": (
        "correctness_3@2",
        "f707d574295dd1bc8a7fc27fc50d112b",
        "9638f9055b940eb16d09f7729982776d",
        "1d1aa8c23ffd75992d24649f6db5e207",
    ),
    "entailment": (
        "entailment@2",
        "ed6fd66103ce7fcbd14052b7091e5972",
        "bc788919860aaa7b7c5a0b79f7a93dd3",
        "63421e60ed2bbddf9f8938374f129318",
    ),
    "entities": (
        "entities@2",
        "c1dff18c2ec2696cd411013e0b2636a9",
        "b9d50a564dbe9a741fd855660784e175",
        "",
    ),
    "false_answers": (
        "false_answers@1",
        "52143a116f4494dc1e915fdba8c9c1c5",
        "2dce83a72b1a2f82a29d67563533a5ed",
        "",
    ),
    "groundedness": (
        "groundedness@4",
        "0c63e2a49cb6ed40525af81542033e03",
        "a892da6674eca5958be5cabe30fff36a",
        "68657ed4114bc6997e326cede5d63c17",
    ),
    "guidelines": (
        "guidelines@2",
        "87bc0997aea3f9f4a6050eb466af6e92",
        "6dffce157080c1c1c44fbebf49688b22",
        "",
    ),
    "pair_preference": (
        "pair_preference@1",
        "2932cba70a76ce33294017a495150de0",
        "9bf917df4efbf5b6e9c1a1d84ff2b5cd",
        "",
    ),
    "questions": (
        "questions@2",
        "a1358db909276b6fcb8c01985d5a3f14",
        "2dc81ac3c9668bff61015afaa7230177",
        "",
    ),
    "response_groundedness_dual_1": (
        "response_groundedness_dual_1@2",
        "3d09460be4d5d5dceed01a7444cb38c2",
        "6e65bd2c4aec476c5f2eb3b37e51a424",
        "",
    ),
    "response_groundedness_dual_1_light": (
        "response_groundedness_dual_1_light@1",
        "02ed31379dcddb80746f424892652bbc",
        "986dc6f273924b28c40e0e80dbe7e1b8",
        "",
    ),
    "response_groundedness_dual_2": (
        "response_groundedness_dual_2@2",
        "3138132ef19cc56cf981a196377ef821",
        "0b0ca0d27b095dbf2ce8a5f630937f34",
        "",
    ),
    "response_groundedness_dual_2_light": (
        "response_groundedness_dual_2_light@1",
        "d0268b5d6cfa0d8d3c41181c3b2fe4ae",
        "2dc0b6ee82f2a1c0d8356422fe15bdc6",
        "",
    ),
    "safety": (
        "safety@2",
        "c5212b44c44c81d8ad4dd074b14e4340",
        "31b938a835cca987b011ee429f65a224",
        "",
    ),
    "sentence_relevance": (
        "sentence_relevance@2",
        "7ff162d3e2e464e3952a23ecec51dbb2",
        "bed8c812e1a06844987b76827a9c33de",
        "222f856b35effa63b43c7681d6b83c20",
    ),
    "topic_passages": (
        "topic_passages@1",
        "fa540477e5625e9df6c49ce2b2981d6f",
        "0df4d60f16cf87e852c18d4a04998dcc",
        "",
    ),
    "trivial": (
        "trivial@1",
        "cfccf6d280fe0658c03ce40d6b30851c",
        "1fd8c5efc7b12e391b561d5a5a082785",
        "",
    ),
}
# Rubric -> its version for the offline judge, and the digest of what that judge reads of it.
OFFLINE_READS = {
    "answer_relevance": ("answer_relevance@2", "671393feffb7983dc12caea7ad7b3b2e"),
    "chunk_relevance": ("chunk_relevance@1", "b6e77e15bed8f2f75d184246bb949a1e"),
    "claim_sources": ("claim_sources@2", "dbc997b466c52694b7956305174235f6"),
    "context_relevance": ("context_relevance@1", "01bde90a3e53034885f1e56456969d66"),
    "context_sufficiency": ("context_sufficiency@1", "9f5bc550430a4cfc185dbf34468eccec"),
    "correctness": ("correctness@3", "ad42f964b9d6b40ee2416b3a5e2517ee"),
    "correctness_3": ("correctness_3@3", "3fad2d87a558d19392971570d33603a7"),
    "entailment": ("entailment@1", "8fcbf01c1f643e4831abb4314f6c4675"),
    "groundedness": ("groundedness@3", "698e9694100d73d28edf059335a8ba1f"),
    "sentence_relevance": ("sentence_relevance@1", "7a23450f494ab58053d9ada7697e9142"),
}
# Rubric -> the digest of its input rules.
INPUT_RULES = {
    "answer_accuracy_dual_1": "203e800d6b37b3b161cd00a29e7b2b12",
    "answer_accuracy_dual_1_light": "5231fffd110d011b9b9b67c5a29825c5",
    "answer_accuracy_dual_2": "6c31e2ffc2864e2acd8dcdbae74d65d3",
    "answer_accuracy_dual_2_light": "4e21b66dfed23293cd8eb9a9558a70db",
    "answer_relevance": "77c39f8becca5d6da218f7e96626d556",
    "answer_relevance_5": "e350e850b6b2fbe30c5261ab78615057",
    "chunk_relevance": "e168aa9c220853e153132392ef7ca8a1",
    "claim_sources": "2e0040b1c6653ebe3739363302a8654f",
    "claims": "b1189c1f68d543815e9b752762d43392",
    "context_relevance": "affe491309983503687b901f7b442018",
    "context_relevance_dual_1": "c6e121ffb6616482cb0fa946d3f019a7",
    "context_relevance_dual_1_light": "ba821bb4ac513f3756db0c823786130f",
    "context_relevance_dual_2": "ca61039f31c767158e5bea6a8340fbc4",
    "context_relevance_dual_2_light": "1d1c5c3589c858d5a2699b6d99370885",
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
    "response_groundedness_dual_1_light": "a7023e312a3e9d2e009809ea5bdd14a3",
    "response_groundedness_dual_2": "5ec40fa50af152cc102a76e452fa0da8",
    "response_groundedness_dual_2_light": "f3521539cae5e15bd081b2f6130cb5bd",
    "safety": "82a4f1fcf01bd07fdbbbefaeae929d34",
    "sentence_relevance": "db39430aa10f83261603fe2c082e55ea",
    "trivial": "d1c6325fcba625f66833460b9d0b9383",
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


@pytest.mark.parametrize("name", OFFLINE_READS)
def test_what_the_offline_judge_reads_of_a_rubric_is_what_its_version_stands_for(
    name: str,
) -> None:
    rubric = RUBRICS.get(name)
    points = [] if rubric.scale is None else rubric.scale.points
    now = digest(
        rubric.inputs,
        rubric.item,
        [(point.rating, point.value) for point in points],
        None if rubric.scale is None else rubric.scale.pass_mark,
        [(flag.name, flag.end) for flag in rubric.flags],
    )
    # A change here raises the number in `offline.judge._VERSIONS`; a new wording does not.
    assert (OFFLINE.rubric_version(name), now) == OFFLINE_READS[name]


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
    assert (RULES, now) == (4, INPUT_RULES[rubric])
