"""The types of the API against its OpenAPI document."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from aptix.wire import StreamStatus, Usage

sys.path.insert(0, str(Path(__file__).parent.parent))


def test_types_match_the_openapi_document() -> None:
    generate_wire = pytest.importorskip("generate_wire")
    for name, text in generate_wire.generate().items():
        assert text == (generate_wire.TARGET / name).read_text(encoding="utf-8"), "Run generate_wire.py"


def test_types_accept_new_members_and_values_and_refuse_missing_members() -> None:
    usage = Usage.model_validate({"PromptTokens": 1, "CompletionTokens": 2, "TotalTokens": 3, "NewTokens": 4})
    assert usage.model_extra == {"NewTokens": 4}
    assert usage.model_dump(by_alias=True, exclude_none=True)["PromptTokens"] == 1
    assert StreamStatus.model_validate({"Phase": "dreaming", "Attempt": 1}).phase == "dreaming"
    with pytest.raises(ValidationError):
        Usage.model_validate({"PromptTokens": 1})
