"""An agent with one tool and a session, as the guide of the OpenAI Agents SDK writes it."""

import asyncio
import json
import os
import threading
import urllib.request

from agents import Agent, Runner, SQLiteSession, function_tool, set_default_openai_api

import front

set_default_openai_api("chat_completions")


@function_tool
async def refund(order: str) -> str:
    """Refunds an order."""

    def send():
        request = urllib.request.Request(os.environ["SHOP_URL"], json.dumps({"order": order}).encode())
        with urllib.request.urlopen(request) as response:
            return response.read().decode()

    return await asyncio.to_thread(send)


agent = Agent(name="Clerk", instructions="Refund orders.", tools=[refund], model="m")


def turn(session, text):
    async def run():
        stored = SQLiteSession(session, os.path.join(os.environ["FOLDER"], "sessions.db"))
        return (await Runner.run(agent, text, session=stored)).final_output

    return asyncio.run_coroutine_threadsafe(run(), loop).result()


loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
front.serve(turn)
