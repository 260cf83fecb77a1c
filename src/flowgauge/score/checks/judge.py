"""`judge`: a model with a rubric. It answers by a JSON Schema with a score, whether it passes, and why; once or several times.

What is judged is untrusted: it stands between marks, and the rubric may not
name it. What the judge uses is counted on the check, apart from the target's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.lang.filters import to_text
from flowgauge.lang.path import ExpressionError
from flowgauge.model.bench import CheckSpec
from flowgauge.model.exchange import ModelRequest, ModelResponse
from flowgauge.model.play import Usage
from flowgauge.model.workflow import Config, Json
from flowgauge.nodes.ai import model_of
from flowgauge.nodes.context import Services, fail
from flowgauge.nodes.kind import PASSING, Complaint
from flowgauge.nodes.together import together
from flowgauge.score.check import Check, Evidence, Finding, Measure, Options
from flowgauge.score.checks.judge_prompt import messages, schema_of
from flowgauge.score.checks.judge_votes import Vote, tally
from flowgauge.score.path import read_json
from flowgauge.score.templates import GIVEN, Filled

DEFAULT_TIMEOUT_S, DEFAULT_RETRIES, LONGEST_WAIT_S, LONGEST_RETRY_AFTER_S = 120.0, 2, 30.0, 600.0
_PLACE = ("base_url", "api_key_env", "timeout_s")
"""Where and how long: no part of what was asked, so no part of a recording's key."""
_RETRY_ON = PASSING | {"invalid_output"}


class JudgeOptions(Options, frozen=True, kw_only=True):
    """The rubric, the judge, and how its votes count."""

    rubric: Annotated[str, Meta(min_length=1, description="What makes an answer good; may name `expected` and `inputs`.")]
    config: Annotated[Config, Meta(description="Which model judges, and how: as in a workflow.")] = Config()
    show: Annotated[tuple[Literal["inputs", "expected", "nodes"], ...], Meta(description="What the judge sees besides the answer.")] = ()
    votes: Annotated[int, Meta(ge=1, le=25, description="How often it is asked.")] = 1
    combine: Annotated[
        Literal["majority", "mean"], Meta(description="Passed by more than half of the votes, or by the mean of their scores?")
    ] = "majority"
    min_score: float = 0.0
    max_score: float = 1.0
    max_chars: Annotated[int, Meta(ge=1, description="More material than this is not judged: it is an error.")] = 100_000


def prepare(options: JudgeOptions, value: Json) -> Measure:
    """`value` is an answer that is known to be right, where there is one."""
    if not options.min_score < options.max_score:
        raise fail("template", "max_score must be more than min_score.")
    schema = schema_of(options.min_score, options.max_score)
    provider, model = model_of(options.config)
    base = ModelRequest(provider=provider, model=model, messages=(), schema=schema, **_settings(options.config))

    def measure(found: Json, evidence: Evidence) -> Awaitable[Finding]:
        return _judge(options, base, _material(options, found, value, evidence), evidence.services)

    return measure


def _settings(config: Config) -> dict[str, Json]:
    names = ("temperature", "top_p", "max_tokens", "extra", "base_url", "api_key_env")
    given = {name: one for name in names if (one := getattr(config, name)) is not None}
    return {**given, "timeout_s": config.timeout_s or DEFAULT_TIMEOUT_S, "stream": bool(config.stream)}


def _material(options: JudgeOptions, found: Json, value: Json, evidence: Evidence) -> dict[str, Json]:
    shown = {"inputs": evidence.inputs, "expected": evidence.expected, "nodes": evidence.answer.nodes}
    material: dict[str, Json] = {name: shown[name] for name in options.show}
    if value is not None:
        material["reference"] = value
    return {**material, "answer": "null" if found is None else found}


async def _judge(options: JudgeOptions, base: ModelRequest, material: dict[str, Json], services: Services) -> Finding:
    chars = sum(len(to_text(one)) for one in material.values())
    if chars > options.max_chars:
        message = f"There are {chars} characters to judge, more than max_chars {options.max_chars}. Name a part by `path`, or raise it."
        raise fail("invalid_output", message)
    asked = messages(options.rubric, material, options.min_score, options.max_score)
    seed = options.config.seed
    votes = [_Ballot(options, services) for _ in range(options.votes)]
    await together(
        ballot.cast(msgspec.structs.replace(base, messages=asked, seed=None if seed is None else seed + number))
        for number, ballot in enumerate(votes)
    )
    usage = Usage()
    for ballot in votes:
        usage = usage.plus(ballot.usage)
    middle = (options.min_score + options.max_score) / 2
    lost = next((ballot.problem for ballot in votes if ballot.problem), "")
    try:
        return tally([ballot.vote for ballot in votes if ballot.vote], options.votes, options.combine, middle, usage, lost)
    except Failed as error:
        error.usage = usage
        raise


class _Ballot:
    """One vote under way, with all that it used, also in tries that failed."""

    def __init__(self, options: JudgeOptions, services: Services) -> None:
        self._options = options
        self._services = services
        self.usage = Usage()
        self.vote: Vote | None = None
        self.problem = ""

    async def cast(self, request: ModelRequest) -> None:
        """Ask until there is a vote, or no more tries."""
        retries = DEFAULT_RETRIES if self._options.config.max_retries is None else self._options.config.max_retries
        for attempt in range(retries + 1):
            try:
                self.vote = await self._ask(request)
            except Failed as error:
                self.problem = error.failure.message
                self.usage = self.usage.plus(error.usage or Usage())
                asked_s = error.failure.retry_after_s or 0.0
                if error.failure.kind not in _RETRY_ON or attempt == retries or asked_s > LONGEST_RETRY_AFTER_S:
                    return
                await self._services.clock.sleep(max(asked_s, min(LONGEST_WAIT_S, 0.5 * 2**attempt)))
            else:
                self.problem = ""
                return

    async def _ask(self, request: ModelRequest) -> Vote:
        gateway = self._services.gateway
        key = {name: one for name, one in msgspec.to_builtins(request).items() if name not in _PLACE}
        response = await self._services.tape.exchange("model", key, lambda: gateway.complete(request), ModelResponse)
        self.usage = self.usage.plus(response.usage)
        return _read(response.text, self._options)


def _read(text: str, options: JudgeOptions) -> Vote:
    try:
        vote = msgspec.convert(read_json(text, "The judge's answer"), Vote)
    except msgspec.ValidationError as error:
        raise fail("invalid_output", f"The judge's answer does not fit: {error}.") from error
    except Failed as error:
        raise fail("invalid_output", error.failure.message) from error
    if not options.min_score <= vote.score <= options.max_score:
        raise fail("invalid_output", f"The judge's score {vote.score:g} is not between {options.min_score:g} and {options.max_score:g}.")
    return vote


def problems(spec: CheckSpec, options: JudgeOptions) -> Iterable[Complaint]:
    """The rubric must not name what is judged; the model must be one that can be called."""
    try:
        if strange := Filled(options.rubric).roots - GIVEN:
            message = f"The rubric names {' and '.join(sorted(strange))}: untrusted text would stand among the instructions."
            yield Complaint("options.rubric", message, "The answer is shown to the judge by itself, between marks.")
    except ExpressionError:
        return  # told for every template alike
    if options.min_score >= options.max_score:
        yield Complaint("options.min_score", "min_score is not below max_score.", "Swap them.")
    if spec.threshold is not None and not options.min_score <= spec.threshold <= options.max_score:
        yield Complaint("threshold", "The threshold is outside of the scores that the judge can give.", "See min_score and max_score.")
    try:
        model_of(options.config)
    except Failed as error:
        yield Complaint("options.config", error.failure.message, "")


CHECK = Check(
    options=JudgeOptions,
    prepare=prepare,
    summary="A model judges by a rubric.",
    value="optional",
    scores=True,
    failure="judge_error",
    problems=problems,
)
