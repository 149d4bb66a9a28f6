"""Uses the package `anthropic`, unmodified, against the base URL and token in the environment. Prints a line per check."""

import base64

from anthropic import Anthropic, APIStatusError, BadRequestError, NotFoundError, beta_tool

client = Anthropic()  # Reads ANTHROPIC_BASE_URL and ANTHROPIC_AUTH_TOKEN.
PNG = base64.b64encode(bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6364f8cf500f0003860180"
    "5a347d6b0000000049454e44ae426082"
)).decode()
WEATHER = {
    "name": "get_weather", "description": "Returns the weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ROUNDS = ('Weather? [[script: say "I look."; call get_weather {"city":"Bern"}; then; '
          'call get_weather {"city":"Thun"}; then; say "Sunny."]]')


def check(name, condition, shown=""):
    assert condition, f"{name}: {shown}"
    print(f"anthropic-python {name}", flush=True)


def create(messages, **more):
    return client.messages.create(model="agent/default", max_tokens=1024, messages=messages, **more)


def user(text):
    return {"role": "user", "content": text}


text = create([user('Hi [[script: say "Hello."; usage 9 3]]')])
check("text", text.content[0].text == "Hello." and text.stop_reason == "end_turn" and text.usage.input_tokens == 9, text)

with client.messages.stream(model="agent/default", max_tokens=1024, messages=[user("Hi [[script: words 20]]")]) as stream:
    deltas = "".join(stream.text_stream)
    final = stream.get_final_message()
check("stream", deltas == final.content[0].text and deltas.endswith("word20") and final.usage.output_tokens > 0, final)

history, seen = [user(ROUNDS)], []
while (reply := create(history, tools=[WEATHER])).stop_reason == "tool_use":
    results = [{"type": "tool_result", "tool_use_id": block.id, "content": "sunny"} for block in reply.content
               if block.type == "tool_use"]
    seen += [block.input["city"] for block in reply.content if block.type == "tool_use"]
    history += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]
check("tools", seen == ["Bern", "Thun"] and reply.content[0].text == "Sunny.", reply)
history += [{"role": "assistant", "content": reply.content}, user('Thanks [[script: say "Bye."]]')]
check("follow-up", create(history, tools=[WEATHER]).content[0].text == "Bye.")

asked = []


@beta_tool
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    asked.append(city)
    return "sunny"


for name, options in [("tool runner", {}), ("tool runner without a thread", {"thread": False}),
                      ("tool runner in streams", {"stream": True})]:
    asked.clear()
    runner = client.beta.messages.tool_runner(
        model="agent/default", max_tokens=1024, tools=[get_weather], messages=[user(ROUNDS)], **options)
    replies = [turn.get_final_message() if "stream" in options else turn for turn in runner]
    check(name, asked == ["Bern", "Thun"] and replies[-1].content[0].text == "Sunny.", replies)

thread = client.beta.messages.thread(model="agent/default", max_tokens=1024, system="Be kind.")
first = thread.send(user('Hi [[script: say "Hello."]]'))
second = thread.send(user('More [[script: say "Again."]]'))
check("thread", (first.content[0].text, second.content[0].text) == ("Hello.", "Again."), thread.messages)

image = create([{"role": "user", "content": [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "text", "text": 'Look [[script: say "Red."]]'},
]}])
check("image", image.content[0].text == "Red.", image)

stopped = create([user('Hi [[script: say "42END more"]]')], stop_sequences=["END"])
check("stop sequence", (stopped.content[0].text, stopped.stop_sequence) == ("42", "END"), stopped)

counted = client.messages.count_tokens(model="agent/default", messages=[user("How many?")])
check("count_tokens", counted.input_tokens > 0, counted)

models = [model.id for model in client.models.list(limit=20)]
check("models", "agent/default" in models and client.models.retrieve("agent/default").id == "agent/default", models)

try:
    create([user("Hi")], extra_body={"container": "c"})
    check("refused member", False)
except BadRequestError as error:
    check("refused member", error.body["error"]["message"] == "container: Extra inputs are not permitted", error)
try:
    client.messages.create(model="claude-unknown", max_tokens=16, messages=[user("Hi")])
    check("unknown model", False)
except NotFoundError as error:
    check("unknown model", error.body["error"]["type"] == "not_found_error", error)

uploaded = client.files.upload(file=("a.txt", b"one", "text/plain"))
check("file", (uploaded.type, uploaded.size_bytes, uploaded.mime_type) == ("file", 3, "text/plain"), uploaded)
check("files", [file.id for file in client.files.list()] == [uploaded.id])
check("file content", client.files.download(uploaded.id).read() == b"one")
check("deleted file", client.files.delete(uploaded.id).type == "file_deleted")

for failure, status, kind in [
    ("status 400 code x", 400, "invalid_request_error"),
    ("status 401", 403, "permission_error"),
    ("status 429 code insufficient_quota", 402, "billing_error"),
]:
    messages = [user(f"Hi [[script: {failure}]]")]
    for stream in [False, True]:
        try:
            reply = create(messages, stream=stream)
            list(reply)
            check(f"failure {kind}", False)
        except APIStatusError as error:
            # A stream began with 200.
            is_expected = error.status_code == (200 if stream else status) and error.body["error"]["type"] == kind
            check(f"failure {kind}", is_expected, error)
