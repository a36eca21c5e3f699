// Reads through `capread jsonl`: calls run side by side, and each answer finds its call by the id.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

type Arguments = { path: string; offset?: number; limit?: number; column?: number; tail?: number; if_version?: string };

// More facts of a read, or of its error, are in docs/protocol.md.
type Facts = { code?: string; totalLines?: number | null; nextOffset?: number | null; version?: string };

type Answer = { id: number; content: { type: "text"; text: string }[]; structuredContent: Facts; isError: boolean };

type Call = { resolve: (answer: Answer) => void; reject: (error: Error) => void };

class Reader {
  readonly ended: Promise<number | null>;
  #process: ChildProcessByStdio<Writable, Readable, null>;
  #waiting = new Map<number, Call>();
  #id = 0;
  #open = true;

  constructor(command: string, options: string[]) {
    this.#process = spawn(command, options, { stdio: ["pipe", "pipe", "inherit"] });
    this.ended = new Promise((resolve, reject) => this.#process.once("error", reject).once("close", resolve));
    const end = (cause: unknown) => {
      // What is not answered by now never is.
      this.#open = false;
      for (const call of this.#waiting.values()) call.reject(new Error("capread has ended", { cause }));
      this.#waiting.clear();
    };
    this.ended.then(end, end);
    this.#process.stdin.on("error", () => {});
    createInterface({ input: this.#process.stdout, crlfDelay: Infinity }).on("line", (line) => {
      const answer: Answer = JSON.parse(line);
      this.#waiting.get(answer.id)?.resolve(answer);
      this.#waiting.delete(answer.id);
    });
  }

  /** The answer, which is one of a cancelled read where the signal stopped it. */
  async read(args: Arguments, signal?: AbortSignal): Promise<Answer> {
    if (!this.#open) throw new Error("capread has ended");
    const id = ++this.#id;
    const answer = new Promise<Answer>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, name: "read", arguments: args });
    const cancel = () => this.#send({ cancel: id });
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    return answer.finally(() => signal?.removeEventListener("abort", cancel));
  }

  #send(message: object) {
    this.#process.stdin.write(JSON.stringify(message) + "\n");
  }

  /** Ends when all is answered. */
  close(): Promise<number | null> {
    this.#process.stdin.end();
    return this.ended;
  }
}

const [command = "capread", ...options] = process.argv.slice(2);
const reader = new Reader(command, options);
// Several at once, in any order.
const answers = await Promise.all(["a.txt", "missing", "../secret"].map((path) => reader.read({ path, limit: 1 })));
for (const { structuredContent, content } of answers) {
  console.log(structuredContent.code ?? "text", "|", content[0].text.split("\n")[0]);
}
// One that takes minutes: given up after a while here, and by the command's own --deadline anyway.
console.log((await reader.read({ path: "large.log" }, AbortSignal.timeout(200))).content[0].text);
console.log("status", await reader.close());
