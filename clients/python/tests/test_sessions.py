"""Stored sessions, reruns and forks, over the synchronous client."""

from __future__ import annotations

import threading

import pytest

from aptix import Aptix, AptixError, File, tool
from aptix.testing import LocalCloud, script
from support import collect_sync, needs_cloud

pytestmark = needs_cloud


def test_sessions_are_listed_by_page_and_read(cloud: LocalCloud) -> None:
    with cloud.client(token=cloud.token("bob")) as aptix:
        ids = ["l1", "l2", "l3", "l4", "l5"]
        for session_id in ids:
            aptix.session(session_id).run(script().say(f"Hello from {session_id}."))
        listed = [session.id for session in aptix.sessions.list(user_id="bob", page_size=2)]
        assert sorted(listed) == ids
        assert aptix.sessions.get("l1").turn_count == 1
        session = aptix.session("l1")
        turn = session.turn("last")
        assert session.summary(turn.id).agent_answer_summary == "Hello from l1."
        assert session.payload(turn.id, "answer").text == "Hello from l1."
        assert session.payload(turn.id, "instruction").json()["TurnId"] == turn.id
        assert aptix.open(turn.full_agent_answer_url or "").text == "Hello from l1."
        assert list(session.mode_history()) == []
        with pytest.raises(AptixError) as caught:
            aptix.sessions.get("nobody")
        assert (caught.value.code, caught.value.status) == ("SessionNotFound", 404)


def test_session_is_renamed_searched_deleted_and_restored(cloud: LocalCloud) -> None:
    with cloud.client(token=cloud.token("carol")) as aptix:
        session = aptix.session()
        session.run(script().say("One."))
        session.run(script().say("Two."))
        assert session.update(name="The lighthouse").name == "The lighthouse"

        def found() -> list[tuple[str, str]]:
            results = aptix.sessions.search("LIGHT", user_id="carol")
            return [(result.session.id, result.matches[0].matched_in) for result in results]

        assert found() == [(session.id, "name")]
        assert [turn.sequence_number for turn in session.turns(order="desc")] == [2, 1]
        assert len(session.read(page_size=1).turns) == 1
        session.delete()
        assert found() == []
        deleted = aptix.sessions.list(user_id="carol", include_deleted=True)
        assert [entry.is_deleted for entry in deleted] == [True]
        session.restore()
        assert found() == [(session.id, "name")]


def test_steps_are_truncated_unless_full_values_are_requested(cloud: LocalCloud) -> None:
    text = "ünï " * 6_000

    @tool
    def workspace_read_file(path: str) -> dict[str, str]:
        return {"text": text}

    with cloud.client() as aptix:
        session = aptix.session(agent="workspace", tools=[workspace_read_file])
        turn = session.stream(script().call("workspace_read_file", {"path": "a"}).after_tools().say("Read."))
        turn.final()
        truncated, _ = session.steps(turn.id)
        full, answer = session.steps(turn.id, full=True)
        assert truncated.calls
        assert full.calls
        assert truncated.calls[0].full_result_json_url
        assert len(truncated.calls[0].result_json or "") < len(text)
        assert full.calls[0].result_json == f'{{"text":"{text}"}}'
        assert full.calls[0].full_result_json_url is None
        assert answer.text == "Read."


def test_answer_files_can_be_downloaded(cloud: LocalCloud) -> None:
    file = {"name": "notes.md", "media_type": "text/markdown", "contents": "# Notes\n", "encoding": "utf8"}
    with cloud.client() as aptix:
        instruction = script().call("publish_file", {**file, "description": None}).after_tools().say("There.")
        (published,) = aptix.session().run(instruction).files
        assert published.name == "notes.md"
        assert aptix.open(published.url).text == "# Notes\n"


def test_turn_is_rerun_with_same_or_other_instruction(cloud: LocalCloud) -> None:
    with cloud.client() as aptix:
        session = aptix.session()
        turn = session.stream(script().say("One."))
        turn.final()
        assert session.rerun(turn.id).final().text == "One."
        again = session.rerun(turn.id, text=str(script().say("Two.")))
        assert collect_sync(again).text == "Two."
        assert session.turn(again.id).rerun_of_turn_id == turn.id
        session.rerun(turn.id, text="Look.", files=[File("a.rs", "fn rerun() {}")]).final()
        assert "fn rerun() {}" in str(cloud.model.requests()[-1]["body"])
        with pytest.raises(AptixError) as caught:
            session.rerun("nobody").final()
        assert caught.value.code == "TurnNotFound"


def test_session_is_forked_from_completed_turn(cloud: LocalCloud) -> None:
    with cloud.client() as aptix:
        session = aptix.session()
        turn = session.stream(script().say("One."))
        turn.final()
        fork = session.fork(turn.id, name="Other")
        assert "One turn of this chain came before" in fork.run(script().echo()).text
        assert (fork.read().name, session.read().turn_count) == ("Other", 1)
        with pytest.raises(AptixError) as caught:
            session.fork("nobody")
        assert caught.value.code == "TurnNotFound"


def test_tools_run_in_threads_and_stop_comes_from_another_thread(cloud: LocalCloud) -> None:
    started = threading.Event()
    threads: list[str] = []

    @tool
    def workspace_read_file(path: str) -> str:
        threads.append(threading.current_thread().name)
        started.set()
        return path

    with cloud.client() as aptix:
        session = aptix.session(agent="workspace", tools=[workspace_read_file])
        calls = script().call("workspace_read_file", {"path": "a"}).after_tools().pace(0.02).words(500)
        turn = session.stream(calls)

        def stop() -> None:
            started.wait(10)
            turn.stop()

        stopper = threading.Thread(target=stop)
        stopper.start()
        assert collect_sync(turn).events[-1].type == "stopped"
        stopper.join()
        assert threads == ["aptix-function"]
        assert session.cancel(turn.id).status.id == "failed"


def test_turn_is_resumed_by_another_client(cloud: LocalCloud) -> None:
    store: dict[str, str] = {}
    with cloud.client(resume_store=store) as aptix:
        session = aptix.session()
        with session.stream(script().pace(0.01).words(40)) as turn:
            next(turn)
    with Aptix(cloud.url, cloud.token(), resume_store=store) as aptix:
        resumed = aptix.session(session.id)
        assert resumed.open_turn_id == turn.id
        assert resumed.resume().final().text.endswith(" word40")
        assert resumed.open_turn_id is None
