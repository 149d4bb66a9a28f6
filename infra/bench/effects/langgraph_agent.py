"""An agent with one tool, as LangChain's quickstart writes it."""

import json
import os
import urllib.request

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI


@tool
def refund(order: str) -> str:
    """Refunds an order."""
    request = urllib.request.Request(os.environ["SHOP_URL"], json.dumps({"order": order}).encode())
    with urllib.request.urlopen(request) as response:
        return response.read().decode()


agent = create_agent(ChatOpenAI(model="m", disable_streaming=True), tools=[refund])
