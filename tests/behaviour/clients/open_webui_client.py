"""Runs Open WebUI, unmodified, with the base URL and key in the environment as its OpenAI connection, and chats through its API.
Prints a line per check."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import httpx

PNG = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
       "AABJRU5ErkJggg==")
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Returns the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}}


def check(name, condition, shown=""):
    assert condition, f"{name}: {shown}"
    print(f"open-webui {name}", flush=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def started(data, port):
    """Starts the server. It looks for no model hub, and leaves embeddings to a provider that no chat here needs."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": data, "DATA_DIR": data, "WEBUI_SECRET_KEY": "test", "OFFLINE_MODE": "true",
        "HF_HUB_OFFLINE": "1", "RAG_EMBEDDING_ENGINE": "openai", "ENABLE_OLLAMA_API": "false", "ENABLE_PERSISTENT_CONFIG": "false",
        "OPENAI_API_BASE_URL": os.environ["OPENAI_BASE"], "OPENAI_API_KEY": os.environ["OPENAI_KEY"],
    }
    program = pathlib.Path(sys.executable).parent / "open-webui"
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
    log = open(pathlib.Path(data) / "log", "wb")
    return subprocess.Popen(command, cwd=data, env=environment, stdout=log, stderr=subprocess.STDOUT)


def chat(client, messages, **members):
    body = {"model": "agent/default", "messages": messages, "stream": False, **members}
    response = client.post("/api/chat/completions", json=body)
    assert response.status_code == 200, f"{response.status_code} {response.text}"
    return response.json()["choices"][0]["message"]


def user(content):
    return {"role": "user", "content": content}


def checks(client):
    models = [model["id"] for model in client.get("/api/models").json()["data"]]
    check("models", "agent/default" in models, models)

    hello = user('Hi [[script: say "Hello."]]')
    answer = chat(client, [hello])
    check("text", answer["content"] == "Hello.", answer)

    deltas = []
    body = {"model": "agent/default", "messages": [user("Hi [[script: pace 5ms; words 20]]")], "stream": True}
    with client.stream("POST", "/api/chat/completions", json=body) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line.removeprefix("data: ")).get("choices", [])
                deltas += [choice["delta"].get("content") or "" for choice in choices]
    check("stream", len(deltas) > 1 and "".join(deltas).endswith("word20"), deltas)

    # Open WebUI sends the whole chat again.
    answer = chat(client, [hello, {"role": "assistant", "content": "Hello."}, user('More [[script: say "Again."]]')])
    check("history", answer["content"] == "Again.", answer)

    messages = [user('Weather? [[script: call get_weather {"city":"Bern"}; then; say "Sunny."]]')]
    called = chat(client, messages, tools=[WEATHER])
    call = called["tool_calls"][0]
    messages += [called, {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}]
    answer = chat(client, messages, tools=[WEATHER])
    check("function", call["function"]["name"] == "get_weather" and answer["content"] == "Sunny.", answer)

    image = [{"type": "text", "text": 'Look [[script: say "Red."]]'}, {"type": "image_url", "image_url": {"url": PNG}}]
    answer = chat(client, [user(image)])
    check("image", answer["content"] == "Red.", answer)


def main():
    with tempfile.TemporaryDirectory() as data:
        port = free_port()
        server = started(data, port)
        try:
            client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
            for _ in range(600):
                assert server.poll() is None, (pathlib.Path(data) / "log").read_text()[-4_000:]
                try:
                    client.get("/health").raise_for_status()
                    break
                except httpx.HTTPError:
                    time.sleep(0.2)
            account = {"name": "Ada", "email": "ada@example.com", "password": "a long password"}
            signed_up = client.post("/api/v1/auths/signup", json=account)
            client.headers["Authorization"] = f"Bearer {signed_up.json()['token']}"
            checks(client)
        finally:
            server.terminate()
            server.wait(30)


main()
