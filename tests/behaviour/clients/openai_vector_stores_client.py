"""Uses vector stores with the package `openai`, unmodified. The key is that of a user who may edit agents."""

import os

from openai import NotFoundError, OpenAI

client = OpenAI(base_url=os.environ["OPENAI_BASE"], api_key=os.environ["OPENAI_KEY"])
QUESTION = "Which badge opens the north door?"


def check(name, condition, shown=""):
    assert condition, f"{name}: {shown}"
    print(f"openai-vector-stores {name}", flush=True)


store = client.vector_stores.create(name="handbook", metadata={"team": "facilities"})
check("create", store.status == "completed" and store.file_counts.total == 0, store)
file = client.vector_stores.files.upload_and_poll(
    vector_store_id=store.id, file=("badges.md", b"# Badges\n\nBlue badges open the north door.\n"),
    attributes={"year": 2026},
)
check("upload_and_poll", file.status == "completed" and file.attributes == {"year": 2026}, file)
check("files", [listed.id for listed in client.vector_stores.files.list(store.id)] == [file.id])
check("retrieve", client.vector_stores.retrieve(store.id).file_counts.completed == 1)
check("update", client.vector_stores.update(store.id, name="manual").name == "manual")
check("list", store.id in [listed.id for listed in client.vector_stores.list()])

found = list(client.vector_stores.search(store.id, query=QUESTION, max_num_results=3))
check("search", found[0].file_id == file.id and "Blue badges" in found[0].content[0].text, found)
filters = {"type": "eq", "key": "year", "value": 2025}
check("filters", list(client.vector_stores.search(store.id, query=QUESTION, filters=filters)) == [])

tool = {"type": "file_search", "vector_store_ids": [store.id]}
question = QUESTION + ' [[script: say "Blue ones."]]'
response = client.responses.create(
    model="scripted", input=question, tools=[tool], include=["file_search_call.results"],
)
call, message = response.output
check("file_search", call.type == "file_search_call" and call.results[0].file_id == file.id, response)
citation = message.content[0].annotations[0]
check("citation", citation.type == "file_citation" and citation.filename == "badges.md", response)

kinds = []
with client.responses.stream(model="scripted", input=question, tools=[tool]) as stream:
    for event in stream:
        kinds.append(event.type)
    final = stream.get_final_response()
check("stream", final.output_text == "Blue ones." and "response.file_search_call.completed" in kinds, kinds)
check("stream citation", "response.output_text.annotation.added" in kinds, kinds)

# The items of a response may be sent back.
history = [{"role": "user", "content": question}, *response.output, {"role": "user", "content": 'And? [[script: say "Yes."]]'}]
again = client.responses.create(model="scripted", input=history, tools=[tool])
check("history", again.output_text == "Yes.", again)

check("delete file", client.vector_stores.files.delete(file.id, vector_store_id=store.id).deleted)
check("delete", client.vector_stores.delete(store.id).deleted)
try:
    client.vector_stores.retrieve(store.id)
    check("deleted", False)
except NotFoundError as error:
    check("deleted", error.code == "not_found", error)
