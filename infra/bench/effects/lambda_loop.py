"""A plain loop of model and tool, as a Lambda function has it: the conversation is stored once the turn is over."""

import json
import os
import urllib.request

import front


def call(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def turn(session, text):
    path = os.path.join(os.environ["FOLDER"], f"{session}.json")
    messages = json.load(open(path)) if os.path.exists(path) else []
    messages.append({"role": "user", "content": text})
    while True:
        body = {"model": "m", "messages": messages}
        message = call(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for tool in message["tool_calls"]:
            result = call(os.environ["SHOP_URL"], json.loads(tool["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": tool["id"], "content": json.dumps(result)})
    with open(path, "w") as file:
        json.dump(messages, file)
    return message["content"]


front.serve(turn)
