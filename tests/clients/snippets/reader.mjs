// Reads through `capread jsonl`: calls run side by side, and each answer finds its call by the id.
// The same in TypeScript: the types are in the comments, which `tsc --checkJs` reads.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import process from "node:process";

/**
 * @typedef {{ path: string, offset?: number, limit?: number, column?: number, tail?: number, if_version?: string }} Arguments
 * @typedef {{ id: number, content: { type: "text", text: string }[], structuredContent: any, isError: boolean }} Answer
 */

class Reader {
  /** @type {Map<number, { resolve: (answer: Answer) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();
  #process;
  #id = 0;
  #open = true;

  /** @param {string} command @param {string[]} options */
  constructor(command, options) {
    this.#process = spawn(command, options, { stdio: ["pipe", "pipe", "inherit"] });
    /** @type {Promise<number | null>} */
    this.ended = new Promise((resolve, reject) => this.#process.once("error", reject).once("close", resolve));
    const end = () => {
      // What is not answered by now never is.
      this.#open = false;
      for (const call of this.#waiting.values()) call.reject(new Error("capread has ended"));
      this.#waiting.clear();
    };
    this.ended.then(end, end);
    this.#process.stdin.on("error", () => {});
    createInterface({ input: this.#process.stdout, crlfDelay: Infinity }).on("line", (line) => {
      /** @type {Answer} */
      const answer = JSON.parse(line);
      this.#waiting.get(answer.id)?.resolve(answer);
      this.#waiting.delete(answer.id);
    });
  }

  /**
   * The answer, which is one of a cancelled read where the signal stopped it.
   * @param {Arguments} args @param {AbortSignal} [signal] @returns {Promise<Answer>}
   */
  async read(args, signal) {
    if (!this.#open) throw new Error("capread has ended");
    const id = ++this.#id;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, name: "read", arguments: args });
    const cancel = () => this.#send({ cancel: id });
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    return answer.finally(() => signal?.removeEventListener("abort", cancel));
  }

  /** @param {object} message */
  #send(message) {
    this.#process.stdin.write(JSON.stringify(message) + "\n");
  }

  /** Ends when all is answered. */
  close() {
    this.#process.stdin.end();
    return this.ended;
  }
}

const [command, ...options] = process.argv.slice(2);
const reader = new Reader(command, options);
// Several at once, in any order.
const answers = await Promise.all(["a.txt", "missing", "../secret"].map((path) => reader.read({ path, limit: 1 })));
for (const { structuredContent, content } of answers) {
  console.log(structuredContent.code ?? "text", "|", content[0].text.split("\n")[0]);
}
// One that takes minutes: given up after a while here, and by the command's own --deadline anyway.
console.log((await reader.read({ path: "large.log" }, AbortSignal.timeout(200))).content[0].text);
console.log("status", await reader.close());
