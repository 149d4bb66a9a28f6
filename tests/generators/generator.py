"""A turn, held with openapi-generator's client for Python."""

import os

import openapi_client as api

with api.ApiClient(api.Configuration(host=os.environ["API"], access_token=os.environ["TOKEN"])) as client:
    request = api.AgentExecuteRequest(SessionId="generator", TurnId="one", Instruction="Hello")
    answer = api.TurnsApi(client).execute_turn(request)
    final = answer.result.actual_instance
    assert isinstance(final, api.Final), answer
    session = api.SessionsApi(client).read_session("generator")
    assert session.result.turn_count == 1, session
    try:
        api.SessionsApi(client).read_session("none")
        raise AssertionError("an unknown session is found")
    except api.exceptions.NotFoundException as error:
        assert "SessionNotFound" in error.body
    print(final.primary_output_text)
