"""An HTTP front before a function that runs a turn: `POST /refund` with a session and a text."""

import http.server
import json
import os


def serve(turn):
    class Front(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps({"answer": turn(body["session"], body["text"])}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Front).serve_forever()
