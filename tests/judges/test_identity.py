"""What certificates are bound to: rubric, model and parameters, and not the server's address."""

from ragassay.judges import CascadeJudge, LLMJudge, PanelJudge, RubricRegistry
from ragassay.judges.identity import identities

REGISTRY = RubricRegistry.default()
RUBRIC = "groundedness"


def judge(port: int, *, model: str = "openai:m", temperature: float = 0.0) -> LLMJudge:
    parameters = {"base_url": f"http://127.0.0.1:{port}/v1"}
    return LLMJudge(model, REGISTRY, temperature=temperature, parameters=parameters)


def test_a_judge_on_another_port_is_the_same_judge_with_judgments_of_its_own() -> None:
    one, other = judge(8000), judge(8001)
    assert identities(one, [RUBRIC]) == identities(other, [RUBRIC])
    assert one.fingerprint(RUBRIC) != other.fingerprint(RUBRIC)


def test_another_model_or_another_temperature_is_another_judge() -> None:
    one = identities(judge(8000), [RUBRIC])
    assert identities(judge(8000, model="openai:n"), [RUBRIC]) != one
    assert identities(judge(8000, temperature=1.0), [RUBRIC]) != one


def test_judges_made_of_others_follow_their_members() -> None:
    def panel(port: int) -> PanelJudge:
        members = (judge(port), judge(port, model="openai:n"), judge(port, model="openai:o"))
        return PanelJudge("panel:x", members, REGISTRY)

    def cascade(port: int) -> CascadeJudge:
        expensive = judge(port, model="openai:n")
        return CascadeJudge("cascade:x", judge(port), expensive, 0.9, REGISTRY)

    for made in (panel, cascade):
        assert identities(made(8000), [RUBRIC]) == identities(made(8001), [RUBRIC])
        assert made(8000).fingerprint(RUBRIC) != made(8001).fingerprint(RUBRIC)
