"""Reads through `capread jsonl`: calls run side by side, and each answer finds its call by the id."""
import itertools
import json
import subprocess
import sys
import threading
from concurrent.futures import Future, TimeoutError


class Reader:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.ids = itertools.count(1)
        self.waiting = {}
        self.lock = threading.Lock()
        # Another one, so that answers are taken while a call waits for room in the pipe.
        self.sending = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            answer = json.loads(line)
            with self.lock:
                future = self.waiting.pop(answer["id"], None)
            if future:
                future.set_result(answer)
        # The process has ended; what was not answered by then never is.
        with self.lock:
            lost, self.waiting = self.waiting, None
        for future in lost.values():
            future.set_exception(EOFError("capread has ended"))

    def _send(self, message):
        try:
            with self.sending:
                self.process.stdin.write(json.dumps(message) + "\n")
                self.process.stdin.flush()
        except BrokenPipeError:
            raise EOFError("capread has ended") from None

    def start(self, **arguments):
        """Sends a call; its id is to cancel it, the future is its answer."""
        with self.lock:
            if self.waiting is None:
                raise EOFError("capread has ended")
            id, future = next(self.ids), Future()
            self.waiting[id] = future
        self._send({"id": id, "name": "read", "arguments": arguments})
        return id, future

    def cancel(self, id):
        self._send({"cancel": id})

    def read(self, seconds=10, **arguments):
        """The answer, which is one of a cancelled read where it was not there in time."""
        id, future = self.start(**arguments)
        try:
            return future.result(seconds)
        except TimeoutError:
            self.cancel(id)
            return future.result(5)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


if __name__ == "__main__":
    reader = Reader(sys.argv[1:])
    # Several at once, in any order.
    calls = [reader.start(path=path, limit=1)[1] for path in ["a.txt", "missing", "../secret"]]
    for answer in [call.result(10) for call in calls]:
        print(answer["structuredContent"].get("code", "text"), "|", answer["content"][0]["text"].splitlines()[0])
    # One that takes minutes: given up after a while here, and by the command's own --deadline anyway.
    print(reader.read(seconds=0.2, path="large.log")["content"][0]["text"])
    print("status", reader.close())
