"""A stand-in for the server of Weights & Biases: it keeps what it is sent and answers what it must."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "0123456789abcdef0123456789abcdef01234567"  # as long as a real one, and nobody's


class Server:
    """Its address, and what it was asked: the GraphQL operations with their variables."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.asked: list[dict[str, Any]] = []
        self.others: list[str] = []  # paths of what is no GraphQL

    def views(self) -> list[dict[str, Any]]:
        """What was saved: workspaces and reports, as their variables."""
        return [each["variables"] for each in self.asked if "upsertView" in each["query"]]


def _answer(query: str, variables: dict[str, Any]) -> dict[str, Any]:
    if "upsertView" in query:
        named = {key: variables.get(key) for key in ("name", "displayName", "description", "spec", "type")}
        project = {
            "id": "UHJvamVjdA==",
            "name": variables.get("projectName"),
            "entityName": variables.get("entityName"),
        }
        times = {"createdAt": "2026-01-01T00:00:00", "updatedAt": "2026-01-01T00:00:00"}
        return {
            "upsertView": {"view": {"id": "Vmlldw==", "project": project, **named, **times}, "inserted": True}
        }
    if "UpsertBucket" in query:
        entity = {"id": "1", "name": variables.get("entity")}
        project = {"id": "1", "name": variables.get("project"), "entity": entity}
        run = {"id": "1", "name": variables.get("name"), "displayName": "run", "project": project}
        return {"upsertBucket": {"bucket": run | {"historyLineCount": 0}, "inserted": True}}
    if "CreateRunFiles" in query:
        return {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": []}}
    if "upsertModel" in query:
        return {
            "upsertModel": {
                "project": {"id": "1", "name": "p"},
                "model": {"id": "1", "name": "p"},
                "inserted": True,
            }
        }
    viewer = {
        "id": "VXNlcg==",
        "entity": "somebody",
        "username": "somebody",
        "name": "somebody",
        "email": "",
        "admin": False,
        "flags": "{}",
        "deletedAt": None,
        "apiKeys": {"edges": []},
        "teams": {"edges": []},
    }
    if "viewer" in query:
        return {"viewer": viewer}
    page = {"edges": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}
    return {"models": page, "projects": page, "serverInfo": {}}


@contextlib.contextmanager
def server(refuse: bool = False) -> Iterator[Server]:
    """Listen on a free port; with `refuse`, every request is answered with 401."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not self.path.endswith("/graphql"):
                kept.others.append(self.path)
                return self._send(200 if self.path.endswith("/file_stream") else 404, {})
            asked = json.loads(body)
            kept.asked.append(asked)
            if refuse:
                return self._send(401, {"errors": [{"message": "no such key"}]})
            return self._send(200, {"data": _answer(asked["query"], asked.get("variables") or {})})

        def do_GET(self) -> None:
            kept.others.append(self.path)
            self._send(404, {})

        def _send(self, code: int, value: Any) -> None:
            text = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept = Server(listening.server_address[1])
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield kept
    finally:
        listening.shutdown()
        listening.server_close()
