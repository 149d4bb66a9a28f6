"""Uses the package `openai`, unmodified, against the base URL and key in the environment. Prints a line per check."""

import base64
import os
import threading
import time

from openai import APIError, APIStatusError, BadRequestError, OpenAI, PermissionDeniedError, RateLimitError

client = OpenAI(base_url=os.environ["OPENAI_BASE"], api_key=os.environ["OPENAI_KEY"])
PNG = "data:image/png;base64," + base64.b64encode(bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6364f8cf500f0003860180"
    "5a347d6b0000000049454e44ae426082"
)).decode()
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
WEATHER = {
    "type": "function", "name": "get_weather", "description": "Returns the weather of a city.", "strict": True,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                   "additionalProperties": False},
}


def check(name, condition, shown=""):
    assert condition, f"{name}: {shown}"
    print(f"openai-python {name}", flush=True)


text = client.responses.create(model="scripted", input='Hi [[script: say "Hello."]]')
check("text", text.output_text == "Hello." and text.status == "completed", text)

deltas, final = [], None
with client.responses.stream(model="scripted", input="Hi [[script: pace 5ms; words 20]]") as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            deltas.append(event.delta)
    final = stream.get_final_response()
check("stream", "".join(deltas) == final.output_text and final.output_text.endswith("word20"), final)

question = [{"role": "user", "content": 'Weather? [[script: call get_weather {"city":"Bern"}; then; say "Sunny."]]'}]
called = client.responses.create(model="scripted", input=question, tools=[WEATHER])
call = called.output[0]
question += called.output
question.append({"type": "function_call_output", "call_id": call.call_id, "output": "sunny"})
resumed = client.responses.create(model="scripted", input=question, tools=[WEATHER])
check("function", call.name == "get_weather" and resumed.output_text == "Sunny.", resumed)

image = client.responses.create(model="agent/default", input=[{"role": "user", "content": [
    {"type": "input_text", "text": 'Look [[script: say "Red."]]'},
    {"type": "input_image", "image_url": PNG, "detail": "auto"},
]}])
check("image", image.output_text == "Red.", image)

uploaded = client.files.create(file=("notes.txt", b"The secret word is lemon."), purpose="user_data")
content = client.files.content(uploaded.id).read()
listed = [file.id for file in client.files.list(purpose="user_data")]
check("file", content == b"The secret word is lemon." and uploaded.id in listed, uploaded)
asked = client.responses.create(model="scripted", input=[{"role": "user", "content": [
    {"type": "input_text", "text": 'Read [[script: say "Lemon."]]'},
    {"type": "input_file", "file_id": uploaded.id},
]}])
check("file of a response", asked.output_text == "Lemon." and client.files.delete(uploaded.id).deleted, asked)

structured = client.responses.create(
    model="scripted", input='Count [[script: say "{\\"n\\":1}"]]',
    text={"format": {"type": "json_schema", "name": "count", "schema": SCHEMA, "strict": True}},
)
check("structured output", structured.output_text == '{"n":1}', structured)

continued = client.responses.create(model="scripted", input="More", previous_response_id=text.id)
check("previous response", continued.previous_response_id == text.id, continued)

conversation = client.conversations.create()
for words in ('Hi [[script: say "Hello."]]', "More"):
    client.responses.create(model="scripted", input=words, conversation=conversation.id)
roles = [item.role for item in client.conversations.items.list(conversation.id, limit=3, order="asc")]
check("conversation", roles == ["user", "assistant", "user", "assistant"], roles)

background = client.responses.create(model="scripted", input='Hi [[script: hang 1s; say "Later."]]', background=True)
check("background at once", background.status == "in_progress", background)
while background.status in ("queued", "in_progress"):
    time.sleep(0.1)
    background = client.responses.retrieve(background.id)
check("background", client.responses.retrieve(background.id).output_text == "Later.", background)

items = client.responses.input_items.list(image.id)
check("input items", items.data[0].content[1].image_url == PNG, items)

running = client.responses.create(model="scripted", input='Go [[script: say "One"; hang 60s]]', stream=True)
identity = next(iter(running)).response.id
timer = threading.Timer(0.5, lambda: client.responses.cancel(identity))
timer.start()
kinds = [event.type for event in running]
check("cancel", client.responses.retrieve(identity).status == "cancelled", kinds)

seen, number, identity = "", 0, None
broken = client.responses.create(
    model="scripted", input="Go [[script: pace 30ms; words 30]]", stream=True, background=True
)
for event in broken:
    number = event.sequence_number
    identity = identity or event.response.id
    if event.type == "response.output_text.delta":
        seen += event.delta
        if "word5" in seen:
            break
broken.close()
for event in client.responses.retrieve(identity, stream=True, starting_after=number):
    if event.type == "response.output_text.delta":
        seen += event.delta
check("taken up", seen == client.responses.retrieve(identity).output_text, seen)

client.responses.delete(image.id)
try:
    client.responses.retrieve(image.id)
    check("delete", False)
except APIStatusError as error:
    check("delete", error.status_code == 404, error)

check("models", "agent/default" in [model.id for model in client.models.list()])

for failure, kind, code in [
    ("status 400 code x", BadRequestError, "invalid_prompt"),
    ("status 401", PermissionDeniedError, "ModelMisconfigured"),
    ("status 429 code insufficient_quota", RateLimitError, "insufficient_quota"),
]:
    script = f"Hi [[script: {failure}]]"
    messages = [{"role": "user", "content": script}]
    for create in [
        lambda: client.responses.create(model="scripted", input=script),
        lambda: client.chat.completions.create(model="scripted", messages=messages),
        lambda: list(client.chat.completions.create(model="scripted", messages=messages, stream=True)),
    ]:
        try:
            create()
            check(f"failure {code}", False)
        except APIError as error:
            # A stream's failure has a code, and no status.
            is_kind = isinstance(error, kind) or not isinstance(error, APIStatusError)
            check(f"failure {code}", is_kind and error.code == code, error)
    events = list(client.responses.create(model="scripted", input=script, stream=True))
    expected = code if code == "insufficient_quota" else "invalid_prompt"
    check(f"failed stream {code}", events[-1].response.error.code == expected, events[-1])
