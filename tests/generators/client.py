"""A turn, held with openapi-python-client."""

import os

from aptix_agent_api_client import AuthenticatedClient
from aptix_agent_api_client.api.sessions import read_session
from aptix_agent_api_client.api.turns import execute_turn
from aptix_agent_api_client.models import AgentExecuteRequest, Final, InvokeResultFailure

client = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["TOKEN"])
request = AgentExecuteRequest(session_id="client", turn_id="one", instruction="Hello")
answer = execute_turn.sync(client=client, body=request)
assert isinstance(answer.result, Final), answer
session = read_session.sync("client", client=client)
assert session.result.turn_count == 1, session
unknown = read_session.sync("none", client=client)
assert isinstance(unknown, InvokeResultFailure) and unknown.errors[0].error_code == "SessionNotFound", unknown
print(answer.result.primary_output_text)
