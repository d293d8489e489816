"""The offline model as shipped: sane, exact, repeatable, and clear about broken weights."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import CallError, ChatCall, EnvironmentFailure, MatchCall, Message
from ragassay.models import offline
from ragassay.models.offline import OfflineModel
from ragassay.models.offline.cache import SharedCache
from ragassay.models.offline.engine import DENIED, FILES
from ragassay.models.offline.windows import NetworkInput, network_input
from support.examples import examples

WEIGHTS = Path(offline.__file__).parent / "weights"
TOWER = (
    "The Eiffel Tower is a wrought-iron lattice tower in Paris, France. It was designed by the"
    " company of Gustave Eiffel and built from 1887 to 1889. The tower is 330 metres tall, about"
    " the same height as an 81-storey building."
)
RIVER = (
    "The Amazon carries more water than any other river. Its basin covers about 7,000,000 square"
    " kilometres."
)
MODEL = OfflineModel(threads=2)


def support(claim: str, *passages: str) -> float:
    return MODEL.score([MatchCall("support", claim, passages)])[0].probability


def relevance(question: str, passage: str) -> float:
    return MODEL.score([MatchCall("relevance", question, (passage,))])[0].probability


def answers(question: str, answer: str) -> float:
    return MODEL.score([MatchCall("answer", question, (answer,))])[0].probability


class TestSanity:
    @pytest.mark.slow
    def test_a_verbatim_claim_is_supported_and_an_unrelated_one_is_not(self) -> None:
        assert support("The tower is 330 metres tall", TOWER, RIVER) > 0.7
        assert support("Photosynthesis takes place in chloroplasts.", TOWER, RIVER) < 0.25

    def test_a_conflict_decides_on_a_short_claim_and_only_weighs_on_one_of_three_sentences(
        self,
    ) -> None:
        long = (
            "The Eiffel Tower is a lattice tower in Paris. It was designed by the company of"
            " Gustave Eiffel. It is 300 metres tall."
        )
        short = long.partition(". ")[2]
        right = support(long.replace("300", "330"), TOWER)
        denied = support(short, TOWER)
        assert 0 < denied <= DENIED < MODEL.cuts["support"]
        # Near its cut: no verdict. Without the conflict it passes.
        assert denied < support(long, TOWER) < 0.36 < right

    def test_of_two_denied_claims_the_one_with_more_of_its_words_is_more_probable(self) -> None:
        nearer = support("The Eiffel Tower is 300 metres tall.", TOWER)
        assert support("The well-known landmark soars 300 metres tall.", TOWER) < nearer <= DENIED

    def test_a_changed_number_is_worth_less_than_the_right_one(self) -> None:
        right = support("It was built from 1887 to 1889.", TOWER)
        assert support("It was built from 1987 to 1989.", TOWER) < right

    def test_a_negated_claim_is_worth_less_than_the_plain_one(self) -> None:
        right = support("The Eiffel Tower is a wrought-iron lattice tower in Paris.", TOWER)
        assert (
            support("The Eiffel Tower is not a wrought-iron lattice tower in Paris.", TOWER) < right
        )

    def test_support_may_stand_in_any_passage(self) -> None:
        assert support("The tower is 330 metres tall.", RIVER, RIVER + " ", TOWER) > 0.7

    def test_a_passage_about_the_question_is_more_relevant_than_another(self) -> None:
        question = "How tall is the Eiffel Tower?"
        assert relevance(question, TOWER) > 0.5 > relevance(question, RIVER)

    def test_an_answer_beats_an_answer_to_another_question(self) -> None:
        question = "How tall is the Eiffel Tower?"
        good = answers(question, "The Eiffel Tower is 330 metres tall.")
        assert good > 0.9
        assert answers(question, "Beethoven wrote nine symphonies.") < good
        assert (
            answers(
                question, "Bananas are yellow. They grow in the tropics and are eaten everywhere."
            )
            < 0.25
        )

    def test_the_figures_explain_the_reply(self) -> None:
        reply = MODEL.score([MatchCall("support", "The tower is 450 metres tall.", (TOWER,))])[0]
        assert reply.features["numbers_missing"] == 1.0
        assert 0 < reply.features["coverage"] < 1


def similar(text: str, *others: str) -> float:
    return MODEL.score([MatchCall("similarity", text, others)])[0].probability


class TestSimilarity:
    def test_a_paraphrase_is_nearer_than_the_same_subject_and_that_nearer_than_another(
        self,
    ) -> None:
        text = "The Eiffel Tower is 330 metres tall."
        paraphrase = similar(text, "At 330 m, the Eiffel Tower is a very high building.")
        subject = similar(text, "Paris is the capital of France.")
        assert similar(text, text) == 1.0
        assert 1 > paraphrase > 0.8 > subject > similar(text, "Bananas grow in the tropics.")

    def test_it_is_symmetric_and_several_texts_give_the_mean(self) -> None:
        assert similar(TOWER, RIVER) == similar(RIVER, TOWER)
        one, two = similar(TOWER, RIVER), similar(TOWER, "The tower is tall.")
        assert similar(TOWER, RIVER, "The tower is tall.") == pytest.approx(
            (one + two) / 2, abs=1e-4
        )

    def test_it_agrees_with_the_published_figures_of_the_encoder_but_for_the_quantisation(
        self,
    ) -> None:
        # The quickstart of the Sentence Transformers documentation prints these for
        # all-MiniLM-L6-v2 in full precision.
        lovely, sunny, stadium = (
            "The weather is lovely today.",
            "It's so sunny outside!",
            "He drove to the stadium.",
        )
        assert similar(lovely, sunny) == pytest.approx(0.6660, abs=0.02)
        assert similar(lovely, stadium) == pytest.approx(0.1046, abs=0.02)
        assert similar(sunny, stadium) == pytest.approx(0.1411, abs=0.02)

    def test_a_long_text_is_read_to_its_end_in_windows_of_equal_length(self) -> None:
        front = "The market opens at nine. " * 60
        ends = [
            front + end * 20 for end in ("Whales sing under water. ", "The stock exchange fell. ")
        ]
        assert (
            similar(ends[0], "Whales sing under water.")
            > similar(ends[1], "Whales sing under water.") + 0.05
        )
        assert similar(front, front + "The market opens at nine.") > 0.95

    @pytest.mark.parametrize(
        ("text", "others"), [("", ("a",)), ("a", ()), ("a", ("",)), ("\x00\u200b", ("a",))]
    )
    def test_what_has_no_word_is_similar_to_nothing(
        self, text: str, others: tuple[str, ...]
    ) -> None:
        assert similar(text, *others) == 0.0

    @pytest.mark.slow
    def test_a_megabyte_takes_about_a_second_since_only_its_beginning_is_read(self) -> None:
        started = time.process_time()
        assert 0 <= similar("The market opens. " * 60_000, TOWER) <= 1
        assert time.process_time() - started < 10

    @settings(max_examples=examples(40), deadline=None)
    @given(st.text(max_size=80), st.lists(st.text(st.characters(), max_size=80), max_size=3))
    def test_any_texts_have_a_similarity_between_zero_and_one(
        self, text: str, others: list[str]
    ) -> None:
        assert 0.0 <= similar(text, *others) <= 1.0


class TestEvidence:
    def test_it_is_the_sentence_with_exact_offsets(self) -> None:
        reply = MODEL.score(
            [MatchCall("support", "The tower is 330 metres tall.", (RIVER, TOWER))]
        )[0]
        first = reply.evidence[0]
        assert first.context == 1
        assert first.quote.startswith("The tower is 330 metres tall")
        assert TOWER[first.start : first.end] == first.quote

    def test_nothing_alike_has_no_evidence(self) -> None:
        assert (
            MODEL.score([MatchCall("support", "Zebras graze.", ("0x1F 0x2A",))])[0].evidence == ()
        )

    @settings(max_examples=examples(40), deadline=None)
    @given(
        st.sampled_from(["support", "relevance", "answer"]),
        st.text(max_size=60),
        st.lists(st.text(st.characters(), max_size=120) | st.just(TOWER), max_size=3),
    )
    def test_any_text_gets_a_probability_and_verbatim_quotes(
        self, task: str, text: str, passages: list[str]
    ) -> None:
        reply = MODEL.score([MatchCall(task, text, tuple(passages))])[0]  # type: ignore[arg-type]
        assert 0.0 <= reply.probability <= 1.0
        for e in reply.evidence:
            assert passages[e.context][e.start : e.end] == e.quote != ""


class TestEmptyAndLong:
    @pytest.mark.parametrize("task", ["support", "relevance", "answer"])
    @pytest.mark.parametrize(
        ("text", "passages"),
        [("", (TOWER,)), (" \n", (TOWER,)), ("A claim.", ()), ("A claim.", ("", " "))],
    )
    def test_nothing_to_read_is_probability_zero(
        self, task: str, text: str, passages: tuple[str, ...]
    ) -> None:
        reply = MODEL.score([MatchCall(task, text, passages)])[0]  # type: ignore[arg-type]
        assert reply.probability == 0.0
        assert reply.evidence == ()

    def test_a_long_passage_takes_seconds_and_its_sentence_is_found(self) -> None:
        long = (RIVER + " ") * 5000 + TOWER + (" " + RIVER) * 5000
        started = time.process_time()
        reply = MODEL.score([MatchCall("support", "The tower is 330 metres tall.", (long,))])[0]
        assert time.process_time() - started < 10
        assert reply.evidence[0].quote.startswith("The tower is 330 metres tall")
        assert len(long) > 1_000_000

    def test_a_claim_of_several_sentences_holds_as_far_as_the_weakest_and_its_words_are_named(
        self,
    ) -> None:
        right, wrong = "The tower is 330 metres tall.", "Whales sing under water at night."
        both = MODEL.score([MatchCall("support", f"{right} {wrong}", (TOWER, RIVER))])[0]
        assert both.probability < support(right, TOWER, RIVER) - 0.2
        named = [f"{right} {wrong}"[a:b] for a, b in both.unsupported]
        assert any("Whales" in words for words in named)
        assert not any("tower" in words for words in named)

    def test_a_claim_that_is_too_long_to_be_read_is_judged_not_at_all(self) -> None:
        with pytest.raises(CallError, match="more than the 40,960 tokens that are read") as caught:
            support((RIVER + " ") * 5000, TOWER)
        assert caught.value.kind == "too_long"

    def test_no_sentence_of_a_long_or_short_kind_goes_unread(self) -> None:
        right = "The tower is 330 metres tall."
        for false in (
            "Bob died.",
            "It was destroyed in 1944 by a storm from the sea.",
            "铁塔已被拆毁。",
        ):
            for claim in (f"{right} {false}", f"{right} " * 30 + false):
                assert support(claim, TOWER) < support(right, TOWER), claim[-60:]

    @pytest.mark.parametrize("task", ["support", "relevance", "answer"])
    @pytest.mark.parametrize(
        ("text", "passage"),
        [("What?", "... !!!"), ("What?", "()"), ("?!", TOWER), ("\u200b", TOWER)],
    )
    def test_marks_alone_are_nothing_to_read(self, task: str, text: str, passage: str) -> None:
        assert MODEL.score([MatchCall(task, text, (passage,))])[0].probability == 0.0  # type: ignore[arg-type]

    def test_a_run_of_accents_takes_no_more_than_linear_time(self) -> None:
        started = time.process_time()
        MODEL.score([MatchCall("relevance", "a" + "\u0301" * 50_000 + "\u0323" * 50_000, (TOWER,))])
        assert time.process_time() - started < 3

    def test_units_that_hold_nothing_leave_room_for_those_that_do(self) -> None:
        claim, passage = "Felines doze.", "Cats sleep a lot during daytime."
        assert support(claim, *["\u200b\u200c"] * 600, passage) > 0.5 * support(claim, passage) > 0


CALLS = [
    MatchCall("support", "The tower is 330 metres tall.", (TOWER, RIVER)),
    MatchCall("support", "The Amazon basin covers 7,000,000 square kilometres.", (TOWER, RIVER)),
    MatchCall("relevance", "Who built the tower?", (TOWER,)),
    MatchCall("relevance", "Which river carries most water?", (TOWER,)),
    MatchCall("answer", "How tall is it?", ("330 metres",)),
    MatchCall("similarity", TOWER, (RIVER, TOWER * 5)),
]


class TestRepeatable:
    def test_the_same_call_gives_the_same_bits_alone_in_any_company_and_in_a_fresh_model(
        self,
    ) -> None:
        alone = [MODEL.score([call])[0] for call in CALLS]
        crowd = MODEL.score(list(reversed(CALLS)) * 5)
        fresh = OfflineModel(threads=3).score(CALLS)
        for at, reply in enumerate(alone):
            for other in (crowd[len(CALLS) - 1 - at], fresh[at]):
                assert (other.probability, other.evidence, dict(other.features)) == (
                    reply.probability,
                    reply.evidence,
                    dict(reply.features),
                )

    @pytest.mark.slow
    def test_what_is_read_does_not_depend_on_what_ran_before_or_beside(self) -> None:
        MODEL.score(CALLS)
        engine = MODEL._engine
        assert engine is not None
        passage_indexes = [
            engine.passage_index(MatchCall("support", "x", (text,)))
            for text in (TOWER, RIVER, TOWER * 9)
        ]
        read = [
            network_input("It is 330 metres tall.", passage_index, engine.rarity, engine.tokenizer)
            for passage_index in passage_indexes
        ]

        def bits(one: NetworkInput | None) -> tuple[bytes, ...]:
            assert one is not None
            said = engine.reader._read(one)
            return (
                said.support.tobytes(),
                np.array((said.relevance, said.answer)).tobytes(),
                said.unsupported.tobytes(),
            )

        alone = [bits(one) for one in read]
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(bits, read[::-1] * 4)) == alone[::-1] * 4
        texts = [TOWER, RIVER, "short", "How tall is it?", TOWER * 9]
        vectors = [engine.encoder._whole(text) for text in texts]
        again = [engine.encoder._whole(text) for text in reversed(texts)]
        assert all((one == other).all() for one, other in zip(vectors, again[::-1], strict=True))  # type: ignore[union-attr]

    def test_a_pair_that_was_read_is_not_read_again_and_two_threads_read_it_once(self) -> None:
        made: list[int] = []

        def slow(key: int) -> int:
            made.append(key)
            time.sleep(0.05)
            return key * key

        kept = SharedCache(slow, 2)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(kept.of, [3, 3, 3, 3])) == [9] * 4
        assert made == [3]
        assert [kept.of(n) for n in (4, 5, 3)] == [16, 25, 9]
        assert made == [3, 4, 5, 3]

    def test_async_and_sync_agree_from_two_loops(self) -> None:
        async def ask() -> list[float]:
            replies = await asyncio.gather(*(MODEL.call(call) for call in CALLS * 3))
            return [r.probability for r in replies]

        results: dict[int, list[float]] = {}
        threads = [
            threading.Thread(target=lambda i=i: results.update({i: asyncio.run(ask())}))
            for i in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        expected = [r.probability for r in MODEL.score(CALLS * 3)]
        assert results == {0: expected, 1: expected}


class TestFaults:
    def test_another_kind_of_call_is_refused(self) -> None:
        with pytest.raises(CallError) as caught:
            asyncio.run(MODEL.call(ChatCall((Message("user", "hi"),))))
        assert caught.value.kind == "bad_request"
        assert not caught.value.retryable

    def test_a_fault_inside_is_an_error_of_that_call_only(self) -> None:
        async def both() -> list[object]:
            broken = MatchCall("support", "text", (None,))  # type: ignore[arg-type]
            return list(
                await asyncio.gather(
                    MODEL.call(broken), MODEL.call(CALLS[0]), return_exceptions=True
                )
            )

        failed, fine = asyncio.run(both())
        assert isinstance(failed, CallError)
        assert failed.kind == "server"
        assert fine.probability > 0.7  # type: ignore[attr-defined]

    def test_a_closed_model_ends_its_threads_and_fails_later_calls(self) -> None:
        async def close() -> None:
            model = OfflineModel(threads=1)
            await model.call(CALLS[4])
            await model.close()
            await model.close()
            with pytest.raises(CallError):
                await model.call(CALLS[4])

        # Another model of this module keeps its own threads.
        before = {t.ident for t in threading.enumerate()}
        asyncio.run(close())
        time.sleep(0.05)
        assert {
            t.ident for t in threading.enumerate() if t.name.startswith("ragassay-offline")
        } <= before


FORKED = """
import os, sys
from ragassay.core import MatchCall
from ragassay.models.offline import OfflineModel
model = OfflineModel(threads=2)
call = MatchCall("support", "The tower is red.", ("The tower is red.",))
before = model.score([call])[0].probability
if (child := os.fork()) == 0:
    os._exit(0 if model.score([call])[0].probability == before else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_model_that_was_used_works_on_in_a_forked_process() -> None:
    assert (
        subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], timeout=500).returncode == 0
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    shutil.copytree(WEIGHTS, folder)
    return folder


class TestWeights:
    @pytest.mark.parametrize("name", [*FILES, "card.json"])
    def test_a_missing_file_is_named(self, copy: Path, name: str) -> None:
        (copy / name).unlink()
        with pytest.raises(EnvironmentFailure) as caught:
            OfflineModel(weights=copy).score(CALLS[:1])
        assert caught.value.code == "E0505"
        assert name in str(caught.value)

    @pytest.mark.parametrize("name", FILES)
    def test_a_changed_file_is_named(self, copy: Path, name: str) -> None:
        content = bytearray((copy / name).read_bytes())
        content[len(content) // 2] ^= 0xFF
        (copy / name).write_bytes(bytes(content))
        with pytest.raises(EnvironmentFailure, match=f"E0505[^$]*{name}"):
            asyncio.run(OfflineModel(weights=copy).call(CALLS[0]))

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"files": {}}', "[" * 100_000])
    def test_a_broken_card_is_an_error_not_a_number(self, copy: Path, text: str) -> None:
        (copy / "card.json").write_text(text)
        with pytest.raises(EnvironmentFailure, match="E0505"):
            OfflineModel(weights=copy).score(CALLS[:1])
        with pytest.raises(EnvironmentFailure, match="E0505"):
            _ = OfflineModel(weights=copy).version

    @pytest.mark.parametrize(
        "change",
        [
            {"cuts": {}},
            {"cuts": []},
            {"cuts": {"support": -1, "relevance": 0.5, "answer": 0.5}},
            {"cuts": {"support": None, "relevance": 0.5, "answer": 0.5}},
            {"agreement": {"support": {}}},
            {"agreement": None},
            {"cuts": {"support": float("nan"), "relevance": 0.5, "answer": 0.5}},
        ],
    )
    def test_a_card_without_a_usable_figure_is_an_error_too(
        self, copy: Path, change: dict[str, object]
    ) -> None:
        card = json.loads((copy / "card.json").read_text()) | change
        (copy / "card.json").write_text(json.dumps(card))
        with pytest.raises(EnvironmentFailure, match="E0505"):
            _ = OfflineModel(weights=copy).cuts

    def test_the_version_follows_the_weights(self, copy: Path) -> None:
        card = json.loads((copy / "card.json").read_text())
        card["files"]["weights.npz"] = "0" * 64
        (copy / "card.json").write_text(json.dumps(card))
        assert (
            OfflineModel(weights=copy).version != OfflineModel().version == OfflineModel().version
        )

    def test_agreement_is_a_sentence_from_the_card(self, copy: Path) -> None:
        card = json.loads((copy / "card.json").read_text())
        card["agreement"] = {
            "support": {
                "balanced_accuracy": 0.7312,
                "interval": [0.7, 0.7612],
                "unigrams": 0.66,
                "labels": 6716,
                "kind": "human",
                "sets": 9,
            }
        }
        (copy / "card.json").write_text(json.dumps(card))
        model = OfflineModel(weights=copy)
        assert (
            model.agreement("support")
            == "balanced accuracy 0.73 [0.70, 0.76], the mean over 9 test sets with 6,716 human"
            " labels (word overlap alone 0.66)"
        )
        assert model.agreement("weather") == "unmeasured on data like yours"

    def test_all_files_together_are_under_25_megabytes(self) -> None:
        assert sum(f.stat().st_size for f in WEIGHTS.iterdir()) < 25_000_000


def test_importing_and_constructing_loads_no_heavy_library() -> None:
    code = (
        "import sys; from ragassay.models.offline import OfflineModel; m = OfflineModel();"
        " m.version; print([n for n in ('numpy', 'onnxruntime', 'sentencex') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_costs_nothing_and_says_who_it_is() -> None:
    assert MODEL.uri == "offline"
    assert MODEL.price(1000, 1000) == 0.0
    assert (MODEL.concurrency or 0) >= 2


@pytest.mark.slow
def test_the_library_it_runs_on_reports_to_nobody(tmp_path: Path) -> None:
    # Official builds of onnxruntime keep events for their maker in the user's cache, and send them
    # from there.
    code = (
        "import asyncio; from ragassay.core import MatchCall; from ragassay.models.offline import"
        " OfflineModel; "
    )
    code += (
        "print(type(asyncio.run(OfflineModel().call(MatchCall('support', 'It is red.', ('It is"
        " red.',))))).__name__)"
    )
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    unset = ("ORT_DISABLE_TELEMETRY", "CI")
    given = {name: value for name, value in os.environ.items() if name not in unset} | home
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=given
    )
    assert done.stdout.strip() == "MatchReply"
    assert list(tmp_path.rglob("*")) == []
