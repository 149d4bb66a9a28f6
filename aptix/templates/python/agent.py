"""Chats with the agent in the terminal: `python agent.py [QUESTION]`."""

import sys

from aptix import Aptix, AptixError, Session

from tools import TOOLS


def answer(session: Session, question: str) -> None:
    """Prints the answer while it arrives."""
    for event in session.stream(question, tools=TOOLS):
        if event.type == "delta":
            print(event.text, end="", flush=True)
        elif event.type == "reset" and event.reason != "tools":
            print("\n(starting over)")
        elif event.type == "tool-call":
            print(f"\n· {event.call.name} {event.call.args_json}")
    print()


def main() -> None:
    """Answers the question of the command line, or one after another from the terminal."""
    session = Aptix().session(agent="{{name}}")
    if len(sys.argv) > 1:
        answer(session, " ".join(sys.argv[1:]))
        return
    while True:
        try:
            question = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            break
        if question:
            try:
                answer(session, question)
            except AptixError as error:
                print(f"error: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
